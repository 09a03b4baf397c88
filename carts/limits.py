"""The limits that models, serializers and admin forms share.

Every validator raises `django.core.exceptions.ValidationError`. Callers of the API see its
`code` unchanged.
"""

from decimal import Decimal

from iso4217 import Currency

from carts.cart_errors import InvalidCurrency, TooManyDecimals
from cartsvc.control_characters import control_character
from cartsvc.request_errors import Blank, ControlCharacter, MaxValue, MinValue

# The specification's table of length limits, in Unicode code points.
MAX_LENGTHS = {
    "partner_key": 4,
    "platform": 50,
    "ordering_channel": 50,
    "fulfilment_channel": 50,
    "currency": 3,
    "note": 300,
    "special_instructions": 300,
    "menu_key": 20,
    "display_name": 100,
}

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MAX = 2**63 - 1

QUANTITY_MIN, QUANTITY_MAX = 1, 9_999

# Within the 15 digits that a double keeps; 4 decimals are enough for every currency of ISO 4217.
PRICE_DIGITS, PRICE_DECIMALS = 14, 4
PRICE_MIN = Decimal(0)
PRICE_MAX = (10**PRICE_DIGITS - 1) * Decimal(10) ** -PRICE_DECIMALS

CURRENCIES = frozenset(currency.code for currency in Currency)

# The white space of str.isspace(), without controls. \s differs between the databases.
BLANKS = r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def validate_line(value: str) -> None:
    """Refuse a text that is blank or holds a control character."""
    if not value or value.isspace():
        raise Blank
    if found := control_character(value):
        raise ControlCharacter(code_point=ord(found))


def validate_paragraph(value: str) -> None:
    """Refuse a text with a control character other than tab, line feed and carriage return."""
    if found := control_character(value, multiline=True):
        raise ControlCharacter(code_point=ord(found))


def validate_currency(value: str) -> None:
    """Refuse what is not an upper-case code on the current list of ISO 4217."""
    if value not in CURRENCIES:
        raise InvalidCurrency


def exact_price(number: int | Decimal) -> Decimal:
    """Return the exact price, with at most four decimals, that a JSON number stands for.

    Removes the noise of a double: `10.100000000000001` becomes 10.1. Never rounds a price
    that really has more decimals.
    """
    price = Decimal(number)
    if price < PRICE_MIN:
        raise MinValue(f"A price must not be below {PRICE_MIN}.")
    if noisy := _decimals(price) > PRICE_DECIMALS:
        # A double keeps 15 significant digits. The rest is noise.
        price = Decimal(f"{float(price):.15g}")
    if price > PRICE_MAX:
        raise MaxValue(f"A price must not be above {PRICE_MAX}.")
    if noisy and (_decimals(price) > PRICE_DECIMALS or (number and not price)):
        raise TooManyDecimals(limit=PRICE_DECIMALS)
    return price or PRICE_MIN  # -0.0 is 0


def _decimals(price: Decimal) -> int:
    return -int(price.as_tuple().exponent)
