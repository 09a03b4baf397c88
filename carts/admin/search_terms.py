"""What a search term may mean: an id, a reference, a restaurant, a partner, a dish, a request."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import reduce
from itertools import islice, pairwise
from operator import and_, ne, or_
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.db.models.lookups import IsNull
from django.utils.formats import date_format

from carts.admin.formatting import MARK, day_of, isolate, parse_amount
from carts.models import Cart, CartChange, CartItem, DeletedCart, MovedCart
from carts.models.cart_change import NAME_LENGTH
from carts.models.item import CartItemOption
from carts.models.reads import CartQuerySet
from carts.value_types import INT32
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
WITH_CENTS = re.compile(r"[1-9].*[.,]\d\d|.*[^\d.,'’].*")  # or the dash of 12,- or the sign of €5
SPACES = re.compile(rf"\b(\d{{1,3}}) (?=(\d{{3}} )*\d{{3}}([.,](\d\d|[–—-]+)(?!\d)|\S* ?({MARK})))")

# What is often copied along with a number or a partner's key. The point of .5 is kept.
AROUND = " \t\"'“”.,:;#"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A way to understand a term: the value of an indexed column, and a condition of the carts.

    `text` says it in words. `cart_ids` are of the only carts that it means, if they are known; if
    there is a `day`, they were created on it. If it `opens`, the page of the only cart found opens,
    and tells of it if it `is_guess`. `request_id` is set if it may be one. `deleted` are carts that
    are gone.
    """

    text: str = ""
    column_name: str = ""
    value: object = None
    cart_ids: frozenset[UUID] = frozenset()
    day: date | None = None
    opens: bool = False
    is_guess: bool = False
    condition: Q = field(default_factory=Q)
    request_id: str = ""
    deleted: Sequence[DeletedCart] = ()
    moved: Sequence[MovedCart] = ()  # from the customer to another one


def id_digits(term: str) -> str:
    """Return the hex digits of the last id in the term, or of the beginning of one, or ""."""
    if ids := WHOLE_ID.findall(term):
        return UUID(ids[-1]).hex
    for part in (term, *reversed(term.split())):
        digits = re.sub(r"[\W_]+", "", part).lower()
        if BEGINNING.fullmatch(digits):
            return digits
    return ""


def meanings(term: str) -> Iterator[Meaning]:
    """Yield what the term may mean, the likeliest first; if there is none, all carts."""
    if not term:
        yield Meaning()
        return
    bare = " ".join(re.sub(r"(?<!\S)(?=[.,]\d{1,3}\b)", "0", term).split()).strip(AROUND) or term
    references = {term.strip(), bare, bare.upper()}
    with_one = Q(reference__in=references) | Q(order_reference__in=references)
    carts = Cart.objects.filter(with_one).order_by("-pk")
    if keys := frozenset(carts.values_list("pk", flat=True)[:MAX_ALIKE]):
        yield Meaning(f"reference {isolate(bare)}", cart_ids=keys, opens=True)
    if digits := id_digits(term):
        yield from _with_id(digits)
    if len(digits) == 32:
        yield _with_ending(digits, bare)
    else:
        for text in dict.fromkeys((bare, SPACES.sub(r"\1'", bare))):  # restaurant 1, or 1 250,00
            yield from _with_words(text)


def _with_id(digits: str) -> Iterator[Meaning]:
    if len(digits) == 32:
        key = UUID(digits)
        text, went = f"customer {isolate(key)}", MovedCart.objects.filter(profile_key=key)
        moved = list(went.order_by("-moved_on")[:MAX_DELETED])
        yield Meaning(text, "profile_key", key, deleted=_deleted(key, key), moved=moved)
    for begins in dict.fromkeys((digits, digits[:MIN_DIGITS])):
        low, high = UUID(begins.ljust(32, "0")), UUID(begins.ljust(32, "f"))
        found, deleted = _within(low, high), _deleted(low, high)
        # One other digit, or two, as if they had changed places.
        others = ((sum(map(ne, key.hex, digits)), cart_id) for key, cart_id in found)
        near = frozenset(cart_id for many, cart_id in others if many in {1, 2})
        if len(digits) == 32 and near:
            text = f"an id that is almost {isolate(digits)}"
            yield Meaning(text, cart_ids=near, opens=True, is_guess=True)
        # The deleted carts are keys as well: if there are no others, no cart is meant.
        if keys := frozenset(cart_id for _, cart_id in found) | {cart.pk for cart in deleted}:
            text = f"an id that begins with {isolate(begins)}"
            yield Meaning(text, cart_ids=keys, opens=begins == digits, deleted=deleted)


def _with_ending(digits: str, bare: str) -> Meaning:
    """Look for an id that is misread at its beginning, which no index finds; or for a request."""
    ending = str(UUID(digits))[MIN_DIGITS:]
    text = f"an id that ends with {isolate(ending.strip('-'))}"
    condition = Q(pk__endswith=ending) | Q(profile_key__endswith=ending)
    condition |= _any(ITEMS_OF_CART.filter(pk__endswith=ending))
    return _or_request(Meaning(text, condition=condition, opens=True, is_guess=True), bare)


def _with_words(bare: str) -> Iterator[Meaning]:
    words = [word.strip(AROUND) or word for word in bare.split()]
    starts = range(min(len(words), MAX_WORDS))
    spans = ((start, start + many) for many in (3, 2, 1) for start in starts)
    days = ((start, end, day_of(" ".join(words[start:end]))) for start, end in spans)
    if named := next((span for span in days if span[2]), None):
        start, end, day = named
        yield from _with_facts(words[:start] + words[end:], day)
    yield from _with_facts(words, None, bare)


def _with_facts(words: list[str], day: date | None, bare: str = "") -> Iterator[Meaning]:
    facts, condition, amounts, subtotals = [], Q(), [], []
    for word, after in pairwise([*words, ""]):
        text = f"{word} {after}" if re.fullmatch(MARK, after) else word
        if (text != word or WITH_CENTS.fullmatch(word)) and (numbers := parse_amount(text)):
            amounts.append(word)
            subtotals.extend(numbers)
    if amounts:
        words = [word for word in words if word not in amounts and not re.fullmatch(MARK, word)]
        facts.append(f"subtotal {' or '.join(map(str, subtotals))}")
        condition = Q(subtotal__in=subtotals)
    if day:
        facts.append(f"created on {date_format(day)}")

    def meaning(names: Iterable[str], *others: str, **column: Any) -> Meaning:
        found = [_holding(name) for name in islice(dict.fromkeys(names), MAX_WORDS)]
        text = "; ".join([*others, *(one for one, _ in found), *facts])
        conditions = reduce(and_, (one for _, one in found), condition)
        return Meaning(text, condition=conditions, day=day, **column)

    first = words[0] if words else ""
    is_key = re.fullmatch("-?[0-9]{1,10}", first) and INT32.minimum <= int(first) <= INT32.maximum
    if is_key:
        restaurant = {"column_name": "restaurant_key", "value": int(first)}
        yield meaning(words[1:], f"restaurant {int(first)}", **restaurant)
    for key in dict.fromkeys((first, first.upper())):
        if carts_with("partner_key", key).values("pk").first():
            yield meaning(
                words[1:], f"partner {isolate(key)}", column_name="partner_key", value=key
            )
    # Of a restaurant that has no cart, rather say so than look for a dish of this name.
    if not is_key:
        yield _or_request(meaning(words), bare)


def _or_request(meaning: Meaning, bare: str) -> Meaning:
    if not REQUEST_ID_TERM.fullmatch(bare):
        return meaning
    return replace(
        meaning,
        text=f"{meaning.text}, or request {isolate(bare)}",
        condition=meaning.condition | Q(created_request_id=bare) | with_changes(changes_by(bare)),
        request_id=bare,
    )


def _holding(word: str) -> tuple[str, Q]:
    """Return what a word means, and the condition of the carts that hold it."""
    options = CartItemOption.objects.filter(
        item=OuterRef("pk"), profile_key=OuterRef("profile_key"), display_name__icontains=word
    )
    in_texts = Q(display_name__icontains=word) | Q(special_instructions__icontains=word)
    condition = Q(note__icontains=word) | Q(special_instructions__icontains=word)
    condition |= _any(ITEMS_OF_CART.filter(in_texts | _any(options)))
    text = f"dish, option or text {isolate(word)}"
    called = [Q(**{f"{name}__iexact": word}) for name in ("username", "first_name", "last_name")]
    accounts = User.objects.filter(reduce(or_, called), is_staff=True)
    if names := [name[:NAME_LENGTH] for name in accounts.values_list("username", flat=True)]:
        text += f" or staff {', '.join(map(isolate, names))}"
        condition |= with_changes(Q(author_kind="staff", author_name__in=names))
    return text, condition


def _any(rows: QuerySet) -> Q:
    # Not `Exists`: PostgreSQL may make a join of it, and read the rows of all carts.
    return Q(IsNull(Subquery(rows.order_by().values("profile_key")[:1]), False))


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


def _within(*ends: UUID) -> list[tuple[UUID, UUID]]:
    """Return the ids between these, of carts, items and customers, each with that of its cart."""
    items = CartItem.objects.filter(pk__range=ends).order_by("-pk").values_list("pk", "cart_id")
    carts = Cart.objects.filter(pk__range=ends).order_by("-pk").values_list("pk", "pk")
    customers = Cart.objects.filter(profile_key__range=ends).order_by("profile_key", "-pk")
    keys = customers.values_list("profile_key", "pk")
    return [row for rows in (items, carts, keys) for row in rows[:MAX_ALIKE]]


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


def with_changes(changes: Q) -> Q:
    """Return the condition of carts that have such changes."""
    of_cart = {"cart": OuterRef("pk"), "profile_key": OuterRef("profile_key")}
    return _any(CartChange.objects.filter(changes, **of_cart))
