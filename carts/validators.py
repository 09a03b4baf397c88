"""The limits that models, serializers and admin forms share.

Everything here raises `django.core.exceptions.ValidationError` with a `code`
that callers of the API see unchanged.
"""

from decimal import Decimal

from django.utils.deconstruct import deconstructible
from iso4217 import Currency

from carts.problems import INVALID_CURRENCY, TOO_MANY, TOO_MANY_DECIMALS
from cartsvc.api.problems import BLANK, CONTROL_CHARACTER, INVALID_TYPE, MAX_VALUE, MIN_VALUE
from cartsvc.api.texts import control_character

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
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

QUANTITY_MIN, QUANTITY_MAX = 1, 9_999

# 14 digits pass a double unharmed; 4 decimals cover every ISO 4217 minor unit.
PRICE_DIGITS, PRICE_DECIMALS = 14, 4
PRICE_MIN = Decimal(0)
PRICE_MAX = (10**PRICE_DIGITS - 1) * Decimal(10) ** -PRICE_DECIMALS

CURRENCIES = frozenset(currency.code for currency in Currency)

# What str.isspace() takes for white space, controls apart: \s differs between databases.
BLANKS = r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


@deconstructible
class PrintableText:
    """Refuse characters that a kitchen or till printer would take for a command.

    `multiline` lets tab, line feed and carriage return pass.
    """

    def __init__(self, *, multiline: bool = False) -> None:
        self.multiline = multiline

    def __call__(self, value: str) -> None:
        if found := control_character(value, multiline=self.multiline):
            if "\ud800" <= found <= "\udfff":
                raise CONTROL_CHARACTER.invalid(
                    "This text holds the lone surrogate U+%(code_point)04X: half of a character.",
                    code_point=ord(found),
                )
            raise CONTROL_CHARACTER.invalid(code_point=ord(found))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrintableText) and other.multiline == self.multiline

    def __hash__(self) -> int:
        return hash(self.multiline)


def validate_not_blank(value: str) -> None:
    if not value or value.isspace():
        raise BLANK.invalid()


def validate_currency(value: str) -> None:
    if value not in CURRENCIES:
        raise INVALID_CURRENCY.invalid()


def exact_price(number: int | float | Decimal) -> Decimal:
    """Return the price that a double stands for, exact, with at most four decimals.

    Takes off the noise that a double carries (`10.100000000000001` is 10.1) and
    never rounds a price that really has more decimals.

    Raises:
        ValidationError: `too_many_decimals`, `min_value`, `max_value`, or
            `invalid_type` for what is not a finite number.
    """
    price = Decimal(number) if isinstance(number, int) else Decimal(str(number))
    if not price.is_finite():
        raise INVALID_TYPE.invalid("A price must be a finite number.")
    if price < PRICE_MIN:
        raise MIN_VALUE.invalid("A price must not be below %(limit)s.", limit=PRICE_MIN)
    if price > PRICE_MAX:
        raise MAX_VALUE.invalid("A price must not be above %(limit)s.", limit=PRICE_MAX)
    if _decimals(price) > PRICE_DECIMALS:
        # 15 significant digits are what every double keeps; the rest is noise.
        price, sent = Decimal(f"{float(price):.15g}"), price
        if _decimals(price) > PRICE_DECIMALS or (sent and not price):
            raise TOO_MANY_DECIMALS.invalid(limit=PRICE_DECIMALS)
    return price or PRICE_MIN  # -0.0 is 0


def _decimals(price: Decimal) -> int:
    return -int(price.as_tuple().exponent)


def validate_count(count: int, limit: int, plural: str) -> None:
    if count > limit:
        raise TOO_MANY.invalid(limit=limit, plural=plural)
