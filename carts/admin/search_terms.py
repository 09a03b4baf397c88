"""What the words of a search mean: an id, a number, an amount, a day, a status, or a text."""

import re
from calendar import month_abbr, month_name
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import IsNull
from django.utils import timezone
from django.utils.formats import date_format

from carts.admin.formatting import DECIMALS, MARK, SIGNS, day_of, isolate, parse_amount
from carts.models import Cart, CartChange, CartItem, DeletedCart, MovedCart
from carts.models.cart_change import NAME_LENGTH
from carts.models.cart_status import STATUSES, has_status
from carts.models.item import CartItemOption
from carts.models.reads import HIGHEST, LOWEST, carts_with
from carts.records import Item, NewCart, Option
from carts.value_types import INT32
from cartsvc.guids import GUID, first_key_at
from cartsvc.spelling import folded, spelled, spelled_alone

# The most carts that a key lists, and of those that are gone; and the words of a search.
MAX_ALIKE, MAX_GONE, MAX_WORDS = 100, 10, 10

WHOLE_ID = re.compile(f"(?<![0-9a-z]){GUID.pattern}(?![0-9a-z])", re.IGNORECASE)
REQUEST_ID_TERM = re.compile(r"(?=.*\d)[A-Za-z0-9._-]{8,64}")

# A day, and an amount with cents or beside its currency. That in 1001 EUR 24.90 belongs to what
# follows it.
MONTH = rf"(?i:{'|'.join([*month_name[1:], *month_abbr[1:]])})\b"
DAYS = rf"\d\d? {MONTH}(?: 20\d\d)?|{MONTH} \d\d?(?:,? 20\d\d)?"
GROUPS = r"[1-9]\d{0,2}(?: \d{3}){1,4}"
CENTS = rf"{GROUPS}[.,]\d\d|[1-9][\d.,'’]*[.,](?:\d\d|--?|–|—)"
POINT = rf"{CENTS}|{GROUPS}[.,]\d+|[\d.,'’]*[.,]\d+"
NUMBER = rf"{POINT}|{GROUPS}|\d[\d.,'’]*"
SUMS = rf"(?:{POINT}) ?(?:{MARK})|(?:{NUMBER}) ?(?:{MARK})(?! ?\d)|(?:{MARK}) ?(?:{NUMBER})"
TOGETHER = rf"(?:{DAYS}|{SUMS}|{CENTS})(?=[^\w]*(?!\S))"
WORDS = re.compile(rf'(?:\w+:)?"[^"]*"|(?<!\S){TOGETHER}|\S+')

# What may stand before a word, as in restaurant:1001, and what people put before a key.
KINDS = {"status", "day", "amount", "restaurant", "reference", "partner", "id", "text"}
KIND_WORDS = {"order": "reference", "payment": "reference", "cart": "id", "item": "id"}
KIND_WORDS |= {name: name for name in ("restaurant", "partner", "reference")}

# What is often copied along with a word, but for the point of .5.
AROUND = re.compile(r"""^(?:["'“”:;#]|[.,](?!\d))+|["'“”.,:;#]+$""")

# What the JSON of the history holds beside texts.
NO_TEXTS = folded(
    " ".join((*Item._fields, *Option._fields, *NewCart._fields, "position", *DECIMALS))
)

ITEMS_OF_CART = CartItem.objects.filter(cart=OuterRef("pk"), profile_key=OuterRef("profile_key"))


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word is taken for, as the page says it, and the condition of the carts it means.

    `kind` may stand before the word. `once` is the condition of the carts of which it was so before
    a change. Their ids lie within the `bounds`, or they are the `ids`, if known. If there is a
    `key`, a column and its value, an index has them. Those that were `deleted` or `moved` may be
    meant as well.
    """

    kind: str = ""
    label: str = ""
    condition: Q = field(default_factory=Q)
    once: Q | None = None
    bounds: tuple[UUID, UUID] = LOWEST, HIGHEST
    ids: frozenset[UUID] | None = None
    key: tuple[str, Any] | None = None
    deleted: Sequence[DeletedCart] = ()
    moved: Sequence[MovedCart] = ()


class Term(NamedTuple):
    """What was `typed`, what it is `taken` for, and labels of what else, with what to type then."""

    typed: str
    taken: Meaning
    others: Sequence[tuple[str, str]] = ()


def id_in(text: str) -> UUID | None:
    """Return the last whole id in the text, or the one that the text is, however it is written."""
    digits = "".join(WHOLE_ID.findall(text)[-1:]) or text
    digits = re.sub(r"[\W_]+", "", digits).lower()
    return UUID(digits) if re.fullmatch("[0-9a-f]{32}", digits) else None


def read_terms(text: str) -> Iterator[Term]:
    """Yield what is searched for. A whole id, or a reference of several words, is all of it.

    Raise ValidationError if there are too many words.
    """
    if key := id_in(text):
        yield Term(text, _of_whole_id(key, AROUND.sub("", text)))
    elif " " in text and (meaning := _reference(text)):
        yield Term(text, meaning)
    else:
        labels = rf"(?i)\b({'|'.join(KIND_WORDS)}) (?=\S*\d)"
        labelled = re.sub(labels, lambda found: f"{KIND_WORDS[found[1].lower()]}:", text)
        if len(words := WORDS.findall(labelled)) > MAX_WORDS:
            raise ValidationError(f"Search for at most {MAX_WORDS} words.")
        taken = set[str]()
        for typed in words:
            yield (term := _term(typed, taken))
            taken |= {term.taken.kind} - {"amount", "text"}


def _term(typed: str, taken: set[str]) -> Term:
    """Return what is meant by kind, the likeliest first. What is `taken` already is less likely."""
    kind, _, word = typed.partition(":")
    if (kind := kind.lower()) not in KINDS or not word:
        kind, word = "", typed
    word = AROUND.sub("", word) or word
    found = [one for one in _meanings(word) if one]
    if kind not in {"", "id", *(one.kind for one in found)}:
        found.append(Meaning(kind, f"{kind} {isolate(word)}", ids=frozenset()))
    # A number alone is more often a restaurant's than an amount.
    unlikely = taken if re.fullmatch(f"{SUMS}|{CENTS}", word) else {*taken, "amount"}
    first, *others = sorted(found, key=lambda one: (one.kind != kind, one.kind in unlikely))
    quoted = f'"{word}"' if " " in word else word
    return Term(typed, first, [(one.label, f"{one.kind}:{quoted}") for one in others])


def _meanings(word: str) -> Iterator[Meaning | None]:
    """Yield what a word may mean, the likeliest first."""
    if (status := word.lower()) in STATUSES:
        yield Meaning("status", status, has_status(status, timezone.now()))
    if day := day_of(word.replace(",", "")):
        midnight = timezone.make_aware(datetime.combine(day, time.min))
        ends = first_key_at(midnight), first_key_at(midnight + timedelta(days=1))
        yield Meaning("day", f"created on {date_format(day)}", bounds=ends)
    if numbers := parse_amount(word):
        yield _amount(word, numbers)
    if re.fullmatch("-?[0-9]{1,10}", word) and INT32.minimum <= int(word) <= INT32.maximum:
        yield _in_column("restaurant", int(word))
    yield _reference(word)
    yield _in_column("partner", word, word.upper(), word.lower())
    digits = re.sub(r"[\W_]+", "", word).lower()
    # A shorter beginning of an id is more likely a number or a word.
    if re.fullmatch("[0-9a-f]{8,31}", digits):
        ends = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
        yield _with_keys("id", f"an id that begins with {isolate(digits)}", "range", ends)
    yield _text(word)


def carts_of(key: UUID) -> Meaning | None:
    """Return the carts of a customer, the ones gone included, if there are any."""
    known = _with_keys("customer", f"customer {isolate(key)}", "in", [key])
    return known and replace(known, ids=None, key=("profile_key", key))


def _of_whole_id(key: UUID, text: str) -> Meaning:
    """Return the carts of a customer, of a reference, of an id misread, or of a request."""
    if meaning := carts_of(key) or _reference(text):
        return meaning
    # One other digit, or two that have changed places.
    others = {digit << 4 * place for place in range(32) for digit in range(1, 16)}
    others |= {((key.int >> n ^ key.int >> n + 4) & 15) * 17 << n for n in range(0, 124, 4)} - {0}
    almost = [UUID(int=key.int ^ other) for other in others]
    made = Meaning("unknown", f"id or request {isolate(key)}", _of_request(text))
    return _with_keys("almost", f"almost {isolate(key)}", "in", almost) or made


def _with_keys(kind: str, label: str, lookup: str, keys: Sequence[UUID]) -> Meaning | None:
    """Return the carts with such an id, or an item's or a customer's, the ones gone included."""
    by_id, by_customer = {f"pk__{lookup}": keys}, {f"profile_key__{lookup}": keys}
    carts = Cart.objects.filter(**by_id).order_by("-pk").values_list("pk")
    items = CartItem.objects.filter(**by_id).order_by("-pk").values_list("cart_id")
    customers = Cart.objects.filter(**by_customer).order_by("profile_key", "-pk").values_list("pk")
    ids = frozenset(key for rows in (carts, items, customers) for (key,) in rows[:MAX_ALIKE])
    deleted = DeletedCart.objects.filter(**by_id).order_by("-pk")
    # Of one customer, the time decides. In the order of ids, the database might walk along the
    # primary key, past all carts of other customers.
    latest = DeletedCart.objects.filter(**by_customer).order_by("-profile_key", "-deleted_on")
    gone = [*deleted[:MAX_GONE], *latest[:MAX_GONE]][:MAX_GONE]
    moves = MovedCart.objects.filter(**by_customer).order_by("-profile_key", "-moved_on")
    found = Meaning(kind, label, ids=ids, deleted=gone, moved=[*moves[:MAX_GONE]])
    return found if ids or found.deleted or found.moved else None


def _amount(text: str, numbers: Sequence[Decimal]) -> Meaning:
    label, currency = f"amount {' or '.join(map(str, numbers))}", Q()
    if mark := re.search(MARK, text):
        label += f" {mark[0].upper()}"
        currency = Q(currency__in=SIGNS.get(mark[0], mark[0].upper()).split())
    once = currency & with_changes(Q(subtotal_before__in=numbers))
    return Meaning("amount", label, currency & Q(subtotal__in=numbers), once)


def _in_column(name: str, *keys: object) -> Meaning | None:
    for column in ((f"{name}_key", key) for key in dict.fromkeys(keys)):
        if carts_with(*column).values("pk").first():
            return Meaning(name, f"{name} {isolate(column[1])}", key=column)
    return None


def _reference(text: str) -> Meaning | None:
    ways = {text, text.upper(), text.lower()}
    carts = Cart.objects.filter(Q(reference__in=ways) | Q(order_reference__in=ways)).order_by("-pk")
    ids = frozenset(carts.values_list("pk", flat=True)[:MAX_ALIKE])
    return Meaning("reference", f"reference {isolate(text)}", ids=ids) if ids else None


def _text(text: str) -> Meaning:
    """Return the carts that hold it, or that a member of staff or a request so called changed."""
    label, like, alone = f"dish or text {isolate(text)}", spelled(text), spelled_alone(text)
    of_item = {"item": OuterRef("pk"), "profile_key": OuterRef("profile_key")}
    options = CartItemOption.objects.filter(display_name__regex=like, **of_item)
    in_texts, named = Q(special_instructions__regex=like), Q(display_name__regex=like)
    items = ITEMS_OF_CART.filter(named | in_texts | _any(options))
    condition = Q(note__regex=like) | in_texts | _any(items)
    once = Q(item_name__regex=like)
    if folded(text) not in NO_TEXTS:
        once |= Q(before__regex=like)
    called = Q(username__regex=alone) | Q(first_name__regex=alone) | Q(last_name__regex=alone)
    for name in User.objects.filter(called, is_staff=True).values_list("username", flat=True):
        label += f", or changed by {isolate(name)}"
        condition |= with_changes(Q(author_kind="staff", author_name=name[:NAME_LENGTH]))
    if REQUEST_ID_TERM.fullmatch(text):
        label += ", or request"
        condition |= _of_request(text)
    return Meaning("text", label, condition, with_changes(once))


def _any(rows: QuerySet) -> Q:
    # Not `Exists`: PostgreSQL may make a join of it, and read the rows of all carts.
    return Q(IsNull(Subquery(rows.order_by().values("profile_key")[:1]), False))


def changes_by(who: str, since: datetime | None = None, until: datetime | None = None) -> Q:
    """Return the condition of changes of that time, by a bearer, a member of staff or a request."""
    times = {"at__gte": since, "at__lt": until}
    changes = Q(**{lookup: moment for lookup, moment in times.items() if moment})
    by = Q(author_name__regex=spelled_alone(who)) | Q(request_id=who) if who else Q()
    return changes & by


def with_changes(changes: Q) -> Q:
    """Return the condition of carts that have such changes."""
    of_cart = {"cart": OuterRef("pk"), "profile_key": OuterRef("profile_key")}
    return _any(CartChange.objects.filter(changes, **of_cart))


def _of_request(request_id: str) -> Q:
    """Return the condition of the carts that the request created or changed."""
    return Q(created_request_id=request_id) | with_changes(Q(request_id=request_id))
