"""What a search term may mean: an id, a reference, a restaurant, a partner, a dish, a request."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.db.models.lookups import IsNull

from carts.admin.formatting import AMOUNT, isolate, parse_amount
from carts.models import Cart, CartChange, CartItem, DeletedCart
from carts.models.reads import CartQuerySet
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
WITH_CENTS = re.compile(r"[1-9].*[.,][0-9]{2}")

# What is often copied along with a number or a partner's key.
AROUND = " \t\"'“”.,:;#"


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to understand a term: the value of an indexed column, and a condition of the carts.

    `meaning` says it in words. `keys` are the only carts that it means, if they are known; if there
    is one and it `opens`, its page opens. `request_id` is set if it may be one. `deleted` are carts
    that are gone.
    """

    meaning: str = ""
    column: str = ""
    value: object = None
    keys: frozenset[UUID] = frozenset()
    opens: bool = False
    condition: Q = field(default_factory=Q)
    request_id: str = ""
    deleted: Sequence[DeletedCart] = ()


def id_digits(term: str) -> str:
    """Return the hex digits of the last id in the term, or of the beginning of one, or ""."""
    if ids := WHOLE_ID.findall(term):
        return UUID(ids[-1]).hex
    for part in (term, *reversed(term.split())):
        digits = re.sub(r"[\W_]+", "", part).lower()
        if BEGINNING.fullmatch(digits):
            return digits
    return ""


def readings(term: str) -> Iterator[Reading]:
    """Yield what the term may mean, the likeliest first; if there is none, all carts."""
    if not term:
        yield Reading()
        return
    bare = " ".join(term.split()).strip(AROUND) or term
    references = {term.strip(), bare, bare.upper()}
    with_one = Q(reference__in=references) | Q(order_reference__in=references)
    carts = Cart.objects.filter(with_one).order_by("-pk")
    if keys := frozenset(carts.values_list("pk", flat=True)[:MAX_ALIKE]):
        yield Reading(f"reference {isolate(bare)}", keys=keys, opens=True)
    if digits := id_digits(term):
        yield from _with_id(digits)
    yield from _with_words(bare)


def _with_id(digits: str) -> Iterator[Reading]:
    if len(digits) == 32:
        key = UUID(digits)
        meaning = f"customer {isolate(key)}"
        yield Reading(meaning, "profile_key", key, deleted=_deleted(key, key))
    for begins in dict.fromkeys((digits, digits[:MIN_DIGITS])):
        low, high = UUID(begins.ljust(32, "0")), UUID(begins.ljust(32, "f"))
        deleted = _deleted(low, high)
        # The deleted carts are keys as well: if there are no others, no cart is meant.
        if keys := _within(low, high) | {cart.pk for cart in deleted}:
            meaning = f"an id that begins with {isolate(begins)}"
            yield Reading(meaning, keys=keys, opens=begins == digits, deleted=deleted)


def _with_words(bare: str) -> Iterator[Reading]:
    words = [word.strip(AROUND) or word for word in bare.split()]
    amounts = [word for word, following in pairwise([*words, ""]) if _is_amount(word, following)]
    if amounts:
        words = [word for word in words if word not in amounts and word.upper() not in CURRENCIES]
    restaurant = None
    # Of a restaurant that has no cart, rather say so than look for a dish of this name.
    is_number = words and re.fullmatch("-?[0-9]{1,10}", words[0])
    if is_number and INT32.minimum <= int(words[0]) <= INT32.maximum:
        restaurant = int(words.pop(0))
    words = list(dict.fromkeys(words))[:MAX_WORDS]
    meanings, condition = [f"dish {isolate(word)}" for word in words], Q()
    for word in words:
        # Not `Exists`: PostgreSQL may make a join of it, and read the items of all carts.
        items = ITEMS_OF_CART.filter(display_name__icontains=word).order_by().values("pk")
        condition &= Q(IsNull(Subquery(items[:1]), False))
    if amounts:
        meanings.append(f"subtotal {' or '.join(amounts)}")
        condition &= Q(subtotal__in=[parse_amount(amount) for amount in amounts])
    if restaurant is not None:
        meaning = ", ".join([f"restaurant {restaurant}", *meanings])
        yield Reading(meaning, "restaurant_key", restaurant, condition=condition)
    for key in dict.fromkeys((bare, bare.upper())):
        if carts_with("partner_key", key).values("pk").first():
            yield Reading(f"partner {isolate(key)}", "partner_key", key)
    if restaurant is None:
        request_id = bare if REQUEST_ID_TERM.fullmatch(bare) else ""
        if request_id:
            meanings = [f"dish or request {isolate(bare)}"]
            condition |= Q(created_request_id=bare) | changed_by(changes_by(bare))
        yield Reading(", ".join(meanings), condition=condition, request_id=request_id)


def _is_amount(word: str, following: str) -> bool:
    """Return whether the word is an amount: one with cents, or before its currency."""
    is_marked = WITH_CENTS.fullmatch(word) or following.upper() in CURRENCIES
    return bool(is_marked and AMOUNT.fullmatch(word))


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


def _within(*ends: UUID) -> frozenset[UUID]:
    """Return the carts that have an id between these: their own, an item's or the customer's."""
    items = CartItem.objects.filter(pk__range=ends).order_by("-pk").values_list("cart_id")
    carts = Cart.objects.filter(pk__range=ends).order_by("-pk").values_list("pk")
    customers = Cart.objects.filter(profile_key__range=ends).order_by("profile_key", "-pk")
    found = items[:MAX_ALIKE], carts[:MAX_ALIKE], customers.values_list("pk")[:MAX_ALIKE]
    return frozenset(key for rows in found for (key,) in rows)


def _deleted(*ends: UUID) -> list[DeletedCart]:
    """Return the newest deleted carts that have an id, or a customer's, between these."""
    carts = DeletedCart.objects.filter(pk__range=ends).order_by("-pk")
    # Of one customer, the time decides. In the order of ids, the database might walk along the
    # primary key, past all carts of other customers.
    of_customers = DeletedCart.objects.filter(profile_key__range=ends)
    latest = of_customers.order_by("-profile_key", "-deleted_on")
    return [*carts[:MAX_DELETED], *latest[:MAX_DELETED]][:MAX_DELETED]


def changes_by(who: str, since: datetime | None = None, until: datetime | None = None) -> Q:
    """Return the condition of changes by a bearer, a member of staff or a request."""
    between = {"at__gte": since, "at__lt": until}
    times = {lookup: moment for lookup, moment in between.items() if moment}
    return (Q(author_name__iexact=who) | Q(request_id=who)) & Q(**times)


def changed_by(changes: Q) -> Q:
    """Return the condition of carts that have such changes."""
    of_cart = {"cart": OuterRef("pk"), "profile_key": OuterRef("profile_key")}
    found = CartChange.objects.filter(changes, **of_cart).order_by().values("version")
    return Q(IsNull(Subquery(found[:1]), False))
