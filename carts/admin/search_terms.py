"""What a search term may mean: an id, a restaurant, a partner, a dish, an amount, a request."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.db.models.lookups import IsNull

from carts.admin.formatting import AMOUNT, parse_amount
from carts.models import Cart, CartChange, CartItem, DeletedCart
from carts.models.reads import CartQuerySet
from carts.records import NewCart
from carts.validation import types_of
from carts.value_types import CURRENCIES, INT32
from cartsvc.guids import GUID

# A shorter beginning of an id is more likely a number or a word.
MIN_DIGITS = 8

# The most carts and deleted carts that a beginning lists, and the most words that are looked for.
MAX_ALIKE, MAX_DELETED, MAX_WORDS = 100, 10, 10

LOWEST, HIGHEST = UUID(int=0), UUID(int=2**128 - 1)

ITEMS = CartItem.objects.filter(cart=OuterRef("pk"), profile_key=OuterRef("profile_key"))

WHOLE_ID = re.compile(f"(?<![0-9a-z]){GUID.pattern}(?![0-9a-z])", re.IGNORECASE)
BEGINNING = re.compile(f"[0-9a-f]{{{MIN_DIGITS},32}}")
REQUEST_ID = re.compile(r"(?=.*\d)[A-Za-z0-9._-]{8,64}")

# Mail and chat turn hyphens into dashes and add characters of no width.
PASTED = dict.fromkeys(range(0x2010, 0x2016), "-") | dict.fromkeys(
    (0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
)
# What is read for a digit in an id.
MISREAD = str.maketrans("OlI", "011")

# What is often copied along with a number or a partner's key, and from a slip.
AROUND = " \t\"'“”.,;#"
COPIED = re.compile(
    r"(?<!\S)(?:[0-9]{1,4} ?[x×](?=\s)|restaurant:?(?=\s+#?[0-9])|subtotal:?(?=\s))", re.IGNORECASE
)
# An amount with a currency's sign or code before or after it.
SIGN = re.compile("[$¢-¥฿\u20a0-\u20cf﷼]")
UNIT = rf"(?:{SIGN.pattern}|\b(?:{'|'.join(sorted(CURRENCIES))})\b)"
NUMBER = re.sub(r"\((?!\?)", "(?:", AMOUNT.pattern)
BEFORE = re.compile(rf"{UNIT}\s*({NUMBER})(?!\S)", re.IGNORECASE)
AFTER = re.compile(rf"(?<!\S)({NUMBER})\s*{UNIT}(?!\S)", re.IGNORECASE)
WITH_CENTS = re.compile(r"[1-9][0-9,]*[.,][0-9]{2}")

Words = tuple[tuple[str, Any], ...]

MARKS = "[\u0300-\u036f]"


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to understand a term: the value of an indexed column, and what the carts hold.

    `words` say it. `keys` are the only carts that it means, if they are known. `shown` are
    conditions: the list shows the items first that meet most. `request_id` is set if it may be one.
    `deleted` are carts that are gone.
    """

    words: Words = ()
    column: str = ""
    value: Any = None
    keys: dict[UUID, UUID | None] = field(default_factory=dict)
    holding: Q = field(default_factory=Q)
    shown: tuple[Q, ...] = ()
    request_id: str = ""
    deleted: tuple[DeletedCart, ...] = ()


def id_digits(term: str) -> str:
    """Return the hex digits of the last id in the term, or of the beginning of one, or ""."""
    if whole := WHOLE_ID.findall(term.translate(PASTED)):
        return UUID(whole[-1]).hex
    for part in (term, *reversed(term.split())):
        digits = re.sub(r"[\W_]+", "", part.translate(PASTED)).translate(MISREAD).lower()
        # Words of these letters alone, such as "COlA", are dishes.
        if BEGINNING.fullmatch(digits) and (re.search("[0-9]", part) or digits == part):
            return digits
    return ""


def readings(term: str, partner_key: str) -> Iterator[Reading]:
    """Yield what the term may mean, the likeliest first; if there is none, the partner's carts."""
    if not term:
        held = partner_key and _partner(partner_key, partner_key.upper(), partner_key.lower())
        yield Reading(column="partner_key" if partner_key else "", value=held or partner_key)
        return
    digits, bare = id_digits(term), " ".join(term.translate(PASTED).split()).strip(AROUND)
    if keys := _of_reference(term, bare):
        yield Reading((("reference", term.strip()),), keys=keys)
    if digits and not _is_restaurant(bare):
        yield from _of_id(digits)
    if len(digits) == 32:
        yield Reading((("request", bare),), holding=_of_request(bare), request_id=bare)
    else:
        yield from _of_text(term, bare)


def _of_reference(term: str, bare: str) -> dict[UUID, UUID | None]:
    """Return the carts with this reference, whatever its case and what is copied along with it."""
    spellings = {term.strip(), bare, bare.rpartition(" ")[2]}
    spellings |= {spelling.upper() for spelling in spellings} | {bare.lower()}
    keys = Cart.objects.filter(reference__in=spellings).order_by("-pk").values_list("pk", flat=True)
    return dict.fromkeys(keys[:MAX_ALIKE])


def _of_id(digits: str) -> Iterator[Reading]:
    if len(digits) == 32:
        key = UUID(digits)
        deleted = _deleted((key, key), "profile_key")
        yield Reading((("customer", key),), "profile_key", key, deleted=deleted)
    for begins in sorted({digits, digits[:12], digits[:MIN_DIGITS]}, reverse=True):
        ends = UUID(begins.ljust(32, "0")), UUID(begins.ljust(32, "f"))
        deleted = _deleted(ends, "pk", "profile_key")
        # The deleted carts are keys as well: if there are no others, no cart is meant.
        if keys := _within(ends) | dict.fromkeys(gone.pk for gone in deleted):
            yield Reading((("an id that begins with", begins),), keys=keys, deleted=deleted)


def _of_text(term: str, bare: str) -> Iterator[Reading]:
    restaurant, amounts, dish = _parsed(bare)
    words: Words = tuple(("dish", word) for word in dish)
    holding, shown = Q(), tuple(Q(display_name__iregex=pattern) for pattern in map(_pattern, dish))
    for is_named in shown:
        # Not `Exists`: PostgreSQL may make a join of it, and read the items of all carts.
        items = ITEMS.filter(is_named).order_by().values("pk")
        holding &= Q(IsNull(Subquery(items[:1]), False))
    if amounts:
        words += (("subtotal", " or ".join(map(str, amounts))),)
        holding &= Q(subtotal__in=amounts)
    # A partner's key may itself begin or end with such a character.
    partner = _partner(term, term.upper(), bare, bare.upper())
    if restaurant is not None and partner:
        either = Q(partner_key=partner) | Q(restaurant_key=restaurant) & holding
        yield Reading((("partner or restaurant", bare),), holding=either, shown=shown)
    elif restaurant is not None:
        of = (("restaurant", restaurant), *words)
        yield Reading(of, "restaurant_key", restaurant, holding=holding, shown=shown)
    elif partner:
        yield Reading((("partner", bare),), "partner_key", partner)
    if restaurant is None and REQUEST_ID.fullmatch(bare):
        words = (("dish or request", bare),)
        yield Reading(words, holding=holding | _of_request(bare), shown=shown, request_id=bare)
    elif restaurant is None and words:
        yield Reading(words, holding=holding, shown=shown)


def _partner(*spellings: str) -> str:
    """Return the first spelling that is the key of a partner who has carts, or ""."""
    longest = types_of(NewCart)["partner_key"].max_length
    keys = (key for key in dict.fromkeys(spellings) if len(key) <= longest)
    return next((key for key in keys if _is_held("partner_key", key)), "")


def carts_with(
    column: str, value: Any, above: UUID = LOWEST, below: UUID = HIGHEST
) -> CartQuerySet:
    """Return the carts with that value, oldest first, as one range of the column's index.

    The condition compares pairs of column and id. With a plain condition on the column, the
    database may walk along the primary key instead, past all carts with another value.
    """
    pair = Tuple(F(column), F("id"))
    between = TupleGreaterThan(pair, (value, above)), TupleLessThan(pair, (value, below))
    return Cart.objects.filter(*between).order_by(column, "id")


def _within(ends: tuple[UUID, UUID]) -> dict[UUID, UUID | None]:
    """Return the carts that have an id between these, and the item if it is an item's."""
    items = CartItem.objects.filter(pk__range=ends).order_by("-pk").values_list("cart_id", "pk")
    carts = Cart.objects.filter(pk__range=ends).order_by("-pk").values_list("pk", flat=True)
    customers = Cart.objects.filter(profile_key__range=ends).order_by("profile_key", "-pk")
    keys = [*carts[:MAX_ALIKE], *customers.values_list("pk", flat=True)[:MAX_ALIKE]]
    return dict(items[:MAX_ALIKE]) | dict.fromkeys(keys)


def _deleted(ends: tuple[UUID, UUID], *columns: str) -> tuple[DeletedCart, ...]:
    """Return the newest deleted carts within one range of the index of any of these columns."""
    found: dict[DeletedCart, None] = {}
    for column in columns:
        rows = DeletedCart.objects.filter(**{f"{column}__range": ends})
        # Of one customer, the time decides. In the order of ids, the database might walk along
        # the primary key, past all carts of other customers.
        found |= dict.fromkeys(rows.order_by(f"-{column}", "-deleted_on")[:MAX_DELETED])
    return tuple(found)[:MAX_DELETED]


def _of_request(request_id: str) -> Q:
    changes = CartChange.objects.filter(
        cart=OuterRef("pk"), profile_key=OuterRef("profile_key"), request_id=request_id
    ).order_by()
    changed = IsNull(Subquery(changes.values("version")[:1]), False)
    return Q(created_request_id=request_id) | Q(changed)


def _parsed(text: str) -> tuple[int | None, list[Decimal], list[str]]:
    """Return the restaurant's number, what the amount may be, and the words of dishes."""
    # No term has NUL, so it marks what is money beyond doubt.
    text = AFTER.sub(" \0\\1 ", BEFORE.sub(" \0\\1 ", COPIED.sub(" ", text)))
    words = [word.strip(AROUND) or word for word in text.split()]
    amounts = [word for word in words if word[0] == "\0" or WITH_CENTS.fullmatch(word)]
    is_unit = re.compile(UNIT if amounts else SIGN.pattern, re.IGNORECASE).fullmatch
    others = [word for word in words if word not in amounts and not is_unit(word)]
    restaurant = None
    ends = [word for word in (*others[:1], *others[-1:]) if _number(word) is not None]
    # Of a restaurant that has no cart, rather say so than look for a dish of this name.
    known = [*filter(_is_restaurant, ends)] or [word for word in ends if word == others[0]]
    if known:
        restaurant = _number(known[0])
        others.remove(known[0])
    if not amounts and len(others) == 1 and AMOUNT.fullmatch(others[0]):
        amounts = [others.pop()]
    typed = amounts[-1].lstrip("\0") if amounts else ""
    found = dict.fromkeys(map(parse_amount, (typed, typed.replace(",", "."))))
    subtotals = [amount for amount in found if amount is not None]
    return restaurant, subtotals, list(dict.fromkeys(map(_plain, others)))[:MAX_WORDS]


def _number(word: str) -> int | None:
    is_number = re.fullmatch("-?[0-9]{1,10}", word)
    return int(word) if is_number and INT32.minimum <= int(word) <= INT32.maximum else None


def _is_restaurant(word: str) -> bool:
    number = _number(word)
    return number is not None and _is_held("restaurant_key", number)


def _is_held(column: str, value: Any) -> bool:
    return bool(carts_with(column, value).values("pk").first())


def _plain(text: str) -> str:
    """Return the text without accents."""
    bare = re.sub(MARKS, "", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare)


# The letters with accents, by those without.
ACCENTED: dict[str, str] = defaultdict(str)
for _letter in map(chr, range(0xC0, 0x2000)):
    if _plain(_letter) != _letter:
        ACCENTED[_plain(_letter)] += _letter


def _pattern(word: str) -> str:
    """Return the regular expression of a word, for both databases, whatever its accents are."""
    return "".join(
        f"[{letter}{ACCENTED[letter.lower()]}{ACCENTED[letter.upper()]}]{MARKS}*"
        if letter.isalpha()
        else re.escape(letter)
        for letter in word
    )
