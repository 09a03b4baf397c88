"""What a search term may mean: an id, a restaurant, a partner, a dish, an amount, a request."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
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

ITEMS_OF_CART = CartItem.objects.filter(cart=OuterRef("pk"), profile_key=OuterRef("profile_key"))

WHOLE_ID = re.compile(f"(?<![0-9a-z]){GUID.pattern}(?![0-9a-z])", re.IGNORECASE)
BEGINNING = re.compile(f"[0-9a-f]{{{MIN_DIGITS},32}}")
REQUEST_ID_TERM = re.compile(r"(?=.*\d)[A-Za-z0-9._-]{8,64}")

# What is often copied along with a number or a partner's key.
AROUND, LABELS_AROUND = " \t\"'“”.,:;#", {"restaurant", "subtotal"}

MARKS = "[\u0300-\u036f]"


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to understand a term: the value of an indexed column, and a condition of the carts.

    `meaning` says it, as names and values. `keys` are the only carts that it means, if they are
    known, each with the item that it means. `dishes` are conditions: the list shows the items first
    that meet most. `request_id` is set if it may be one. `deleted` are carts that are gone.
    """

    meaning: tuple[tuple[str, object], ...] = ()
    column: str = ""
    value: object = None
    keys: dict[UUID, UUID | None] = field(default_factory=dict)
    condition: Q = field(default_factory=Q)
    dishes: tuple[Q, ...] = ()
    request_id: str = ""
    deleted: tuple[DeletedCart, ...] = ()


def id_digits(term: str) -> str:
    """Return the hex digits of the last id in the term, or of the beginning of one, or ""."""
    if ids := WHOLE_ID.findall(term):
        return UUID(ids[-1]).hex
    for part in (term, *reversed(term.split())):
        digits = re.sub(r"[\W_]+", "", part).lower()
        if BEGINNING.fullmatch(digits):
            return digits
    return ""


def readings(term: str, partner_key: str) -> Iterator[Reading]:
    """Yield what the term may mean, the likeliest first; if there is none, the partner's carts."""
    if not term:
        key = partner_key and _partner(partner_key, partner_key.upper(), partner_key.lower())
        yield Reading(column="partner_key" if partner_key else "", value=key or partner_key)
        return
    digits, bare = id_digits(term), " ".join(term.split()).strip(AROUND)
    if keys := _with_reference(term, bare):
        yield Reading((("reference", term.strip()),), keys=keys)
    if digits and not _is_restaurant(bare):
        yield from _with_id(digits)
    if len(digits) == 32:
        yield Reading((("request", bare),), condition=_by_request(bare), request_id=bare)
    else:
        yield from _with_words(term, bare)


def _with_reference(term: str, bare: str) -> dict[UUID, UUID | None]:
    """Return the carts with this reference, whatever its case and what is copied along with it."""
    spellings = {term.strip(), bare, bare.rpartition(" ")[2]}
    spellings |= {spelling.upper() for spelling in spellings} | {bare.lower()}
    keys = Cart.objects.filter(reference__in=spellings).order_by("-pk").values_list("pk", flat=True)
    return dict.fromkeys(keys[:MAX_ALIKE])


def _with_id(digits: str) -> Iterator[Reading]:
    if len(digits) == 32:
        key = UUID(digits)
        deleted = _deleted((key, key), "profile_key")
        yield Reading((("customer", key),), "profile_key", key, deleted=deleted)
    for begins in sorted({digits, digits[:12], digits[:MIN_DIGITS]}, reverse=True):
        ends = UUID(begins.ljust(32, "0")), UUID(begins.ljust(32, "f"))
        deleted = _deleted(ends, "pk", "profile_key")
        # The deleted carts are keys as well: if there are no others, no cart is meant.
        if keys := _within(ends) | dict.fromkeys(cart.pk for cart in deleted):
            yield Reading((("an id that begins with", begins),), keys=keys, deleted=deleted)


def _with_words(term: str, bare: str) -> Iterator[Reading]:
    restaurant, amounts, words = _parsed(bare)
    meaning: tuple[tuple[str, object], ...] = tuple(("dish", word) for word in words)
    dishes = tuple(Q(display_name__iregex=_pattern(word)) for word in words)
    condition = Q()
    for dish in dishes:
        # Not `Exists`: PostgreSQL may make a join of it, and read the items of all carts.
        items = ITEMS_OF_CART.filter(dish).order_by().values("pk")
        condition &= Q(IsNull(Subquery(items[:1]), False))
    if amounts:
        meaning += (("subtotal", " or ".join(map(str, amounts))),)
        condition &= Q(subtotal__in=amounts)
    # A partner's key may itself begin or end with such a character.
    partner = _partner(term, term.upper(), bare, bare.upper())
    if restaurant is not None and partner:
        condition = Q(partner_key=partner) | Q(restaurant_key=restaurant) & condition
        yield Reading((("partner or restaurant", bare),), condition=condition, dishes=dishes)
    elif restaurant is not None:
        meaning = (("restaurant", restaurant), *meaning)
        yield Reading(meaning, "restaurant_key", restaurant, condition=condition, dishes=dishes)
    elif partner:
        yield Reading((("partner", bare),), "partner_key", partner)
    if restaurant is None and REQUEST_ID_TERM.fullmatch(bare):
        meaning, condition = (("dish or request", bare),), condition | _by_request(bare)
        yield Reading(meaning, condition=condition, dishes=dishes, request_id=bare)
    elif restaurant is None and meaning:
        yield Reading(meaning, condition=condition, dishes=dishes)


def _parsed(text: str) -> tuple[int | None, list[Decimal], list[str]]:
    """Return the restaurant's number, what the amount may be, and the words of dishes."""
    stripped = (word.strip(AROUND) or word for word in text.split())
    words = [word for word in stripped if word.lower() not in LABELS_AROUND]
    amounts = [word for word, following in pairwise([*words, ""]) if _is_amount(word, following)]
    if amounts:
        words = [word for word in words if word not in amounts and word.upper() not in CURRENCIES]
    restaurant = None
    # Of a restaurant that has no cart, rather say so than look for a dish of this name.
    if words and _number(words[0]) is not None:
        restaurant = _number(words.pop(0))
    elif words and _is_restaurant(words[-1]):
        restaurant = _number(words.pop())
    if not amounts and len(words) == 1 and AMOUNT.fullmatch(words[0]):
        amounts = [words.pop()]
    typed = amounts[-1] if amounts else ""
    values = dict.fromkeys(map(parse_amount, (typed, typed.replace(",", "."))))
    subtotals = [value for value in values if value is not None]
    return restaurant, subtotals, list(dict.fromkeys(map(_without_accents, words)))[:MAX_WORDS]


def _is_amount(word: str, following: str) -> bool:
    """Return whether the word is an amount: one with cents, or before its currency."""
    is_before_currency = following.upper() in CURRENCIES and AMOUNT.fullmatch(word)
    return bool(is_before_currency or re.fullmatch(r"[1-9][0-9,]*[.,][0-9]{2}", word))


def _number(word: str) -> int | None:
    is_number = re.fullmatch("-?[0-9]{1,10}", word)
    return int(word) if is_number and INT32.minimum <= int(word) <= INT32.maximum else None


def _is_restaurant(word: str) -> bool:
    number = _number(word)
    return number is not None and _has_carts("restaurant_key", number)


def _partner(*spellings: str) -> str:
    """Return the first spelling that is the key of a partner who has carts, or ""."""
    longest = types_of(NewCart)["partner_key"].max_length
    keys = (key for key in dict.fromkeys(spellings) if len(key) <= longest)
    return next((key for key in keys if _has_carts("partner_key", key)), "")


def _has_carts(column: str, value: object) -> bool:
    return bool(carts_with(column, value).values("pk").first())


def carts_with(
    column: str, value: object, above: UUID = LOWEST, below: UUID = HIGHEST
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


def _by_request(request_id: str) -> Q:
    """Return the condition of the carts that the request has created or changed."""
    changes = CartChange.objects.filter(
        cart=OuterRef("pk"), profile_key=OuterRef("profile_key"), request_id=request_id
    ).order_by()
    changed = IsNull(Subquery(changes.values("version")[:1]), False)
    return Q(created_request_id=request_id) | Q(changed)


def _without_accents(text: str) -> str:
    bare = re.sub(MARKS, "", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare)


# The letters with accents, by those without.
ACCENTED: dict[str, str] = defaultdict(str)
for _letter in map(chr, range(0xC0, 0x2000)):
    if _without_accents(_letter) != _letter:
        ACCENTED[_without_accents(_letter)] += _letter


def _pattern(word: str) -> str:
    """Return the regular expression of a word, for both databases, whatever its accents are."""
    return "".join(
        f"[{letter}{ACCENTED[letter.lower()]}{ACCENTED[letter.upper()]}]{MARKS}*"
        if letter.isalpha()
        else re.escape(letter)
        for letter in word
    )
