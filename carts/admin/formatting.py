"""How the desk writes and reads values: isolated texts, amounts, moments, labels and addresses."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localdate, localtime
from iso4217 import Currency

from carts.cart_errors import CartClosed
from cartsvc.request_errors import ApiError

# What the desk calls a field whose name does not say it.
LABELS = {
    "display_name": "Name",
    "note": "Note on the customer's invoice",
    "special_instructions": "Instructions for the kitchen",
}

# An isolate keeps the direction of a text to itself: FSI begins it, and PDI ends it.
ISOLATE_START, ISOLATE_END = "\u2068", "\u2069"

# Browsers let these reach out of an isolate. Nobody sees them, and a text reads well without them.
# At the line separators they begin no new line.
CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
CONTROLS |= dict.fromkeys((0x2028, 0x2029), "\n")

# Of today's currencies. A cart may be in one that ISO 4217 has withdrawn since.
DECIMALS = {currency.code: currency.exponent or 0 for currency in Currency}

# Signs of currencies, each with the codes that it may stand for.
SIGNS = {"$": "ARS AUD CAD CLP COP HKD MXN NZD SGD TWD USD", "£": "GBP", "€": "EUR", "¥": "CNY JPY"}
SIGNS |= {"₩": "KRW", "₪": "ILS", "₫": "VND", "₱": "PHP", "₹": "INR", "₺": "TRY", "₽": "RUB"}
MARK = rf"(?i:{'|'.join(DECIMALS)})|[{''.join(SIGNS)}]"

# An amount, with a dash for no cents, such as 12,-; without groups of digits, and with them.
AMOUNT = re.compile(rf"({MARK})? ?([\d., ']*\d)(?:([.,])(?:--?|–|—))?(?(1)|(?: ?({MARK}))?)")
PLAIN = re.compile(r"(\d*)()(?:[.,](\d+))?")
GROUPED = re.compile(r"((?!0)\d{1,3}([., '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d+))?")
ALIKE = str.maketrans("’٬٫．，￥\u00a0\u2009\u202f", "''..,¥   ")


def label_of(name: str) -> str:
    return LABELS.get(name, name.replace("_", " ").capitalize())


def isolate(value: object) -> str:
    """Return what a caller wrote as an isolate: an Arabic text turns nothing beside it around.

    The page shows it as a `<bdi>`. No value holds the characters that begin and end an isolate.
    """
    return f"{ISOLATE_START}{str(value).translate(CONTROLS)}{ISOLATE_END}"


def format_moment(moment: datetime | str | None) -> str:
    """Return a moment, perhaps as JSON has it, in the viewer's time zone; "nothing" for none."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return date_format(localtime(moment), "j M Y, H:i T") if moment else format_value(None)


def format_error(error: ApiError) -> str:
    if isinstance(error, CartClosed):
        state, since, until = (error.details[name] for name in error.facts)
        when = f"until {format_moment(until)}" if until else f"since {format_moment(since)}"
        return f"The cart is closed: {state} {when}. Reopen it first, if that is right."
    return " ".join(one.sentence for one in error.errors)


def format_value(value: object) -> str:
    """Return a value that is no price as histories show it: a text isolated and in quotes."""
    if isinstance(value, str):
        return f"“{isolate(value)}”"
    return "nothing" if value is None else str(value)


def format_amount(value: Decimal | int, currency: str) -> str:
    """Return the exact amount with its currency's decimals or more, such as 1,234.50 or 1,200."""
    number = Decimal(value)
    decimals = max(DECIMALS.get(currency, 2), -int(number.normalize().as_tuple().exponent))
    return f"{number:z,.{decimals}f}"


def parse_amount(text: str, currency: str = "") -> list[Decimal]:
    """Return what is meant: nothing, one number, or the lower and the higher one of 1.250.

    Raise ValidationError if the text names another currency than the one given.
    """
    if not (found := AMOUNT.fullmatch(text.translate(ALIKE).strip())):
        return []
    before, number, dash, after = found.groups(default="")
    if (mark := before or after) and currency not in SIGNS.get(mark, mark.upper()):
        raise ValidationError(f"Prices of this cart are in {currency}, not in {mark}.")
    wholes = (form.fullmatch(number + (dash and f"{dash}00")) for form in (PLAIN, GROUPED))
    numbers = [Decimal(re.sub("[., ']", "", one[1]) + f".{one[3] or ''}") for one in wholes if one]
    decimals = DECIMALS.get(currency or mark.upper(), 2)
    # Written as on the pages, it has one meaning: 1.250 KWD and 1,250 JPY.
    if len(numbers) == 2 and (number[-4], decimals) in {(".", 3), (",", 0)}:
        return [numbers[not decimals]]
    return numbers


def day_of(text: str) -> date | None:
    """Return the day of this century that was typed; without a year, the last one of that name."""
    today = localdate()
    for year in ("", f" {today.year}", f" {today.year - 1}"):
        for form in ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y"):
            with suppress(ValueError):
                day = datetime.strptime(text + year, form).replace(tzinfo=UTC).date()
                if date(2000, 1, 1) <= day <= today:
                    return day
    return {"today": today, "yesterday": today - timedelta(days=1)}.get(text.lower())


def parse_version(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def cart_url(cart_id: UUID | str | None, item_id: UUID | None = None, version: int = 0) -> str:
    """Return the path of a cart's page: at an item, or at the event that made the version."""
    url = reverse("admin:carts_cart_change", args=[cart_id])
    if version:
        return f"{url}?before={version + 1}#version-{version}"
    return f"{url}#item-{item_id}" if item_id else url
