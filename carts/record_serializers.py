"""Serializers of records: camelCase outside, the records of `carts.records` inside.

`is_valid`, `validated_data`, `validate` and `validate_<member>` are the framework's. Its own loop
over the fields is replaced: the members of a class are looked up once, a value is checked once by
its type, and no more errors are looked for than an answer lists. A serializer keeps nothing of what
`run_validation` is given, so the operations share one.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.fields import empty

from carts.cart_errors import CannotChange
from carts.models.closing import LAST_MEMBERS
from carts.models.reads import SHOWN_ONLY
from carts.records import Item, NewCart, Record, is_optional, not_sent, types_of
from carts.value_types import ListOf, invalid_type
from cartsvc.api.exception_handler import errors_of
from cartsvc.member_names import camel_case, shortened
from cartsvc.request_errors import (
    MAX_ERRORS,
    ApiError,
    ApiErrors,
    UnknownMember,
)
from cartsvc.value_errors import Null, Required

# What Get Cart and List Carts show beyond what is sent: it may be sent back, and sets nothing.
READ_ONLY_MEMBERS = frozenset(
    {
        *("itemId", "value", "cartId", "profileKey", "itemCount"),
        *map(camel_case, SHOWN_ONLY),
        *LAST_MEMBERS,
    }
)


class InvalidBody(ApiErrors, serializers.ValidationError):
    """The errors of a body, each with its place. `detail` has them by their JSON Pointers."""

    def __init__(self, errors: Sequence[ApiError]) -> None:
        Exception.__init__(self)  # the framework's would look for texts in the errors
        self.errors, self.field, self.headers, self.details = errors, None, {}, {}

    @property
    def detail(self) -> Any:  # type: ignore[override]
        found: dict[str, list[Any]] = {}
        for error in self.errors:
            told = serializers.ErrorDetail(error.sentence, error.code)
            found.setdefault(error.pointer or "", []).append(told)
        return found


class TypedField(serializers.Field):
    """A member of one of the specification's types. It takes a value only as sent."""

    def __init__(self, kind: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind

    def run_validation(self, data: Any = empty) -> Any:
        value = self.kind.check(data)
        self.run_validators(value)
        return value


class Member(NamedTuple):
    """A member of a serializer's object: its name on the wire and in Python, and its field."""

    name: str
    source: str
    field: Any
    check: Callable[[Any], Any]
    hook: Callable[[Any], Any] | None  # the serializer's own method for this member


class RecordSerializer(serializers.Serializer):
    """A JSON object with the fields of a record, which is what is validated."""

    # What is known beside the fields, and sets nothing.
    beside: ClassVar[frozenset[str]] = READ_ONLY_MEMBERS

    class Meta:
        record: Record

    def get_fields(self) -> dict[str, Any]:
        declared: dict[str, Any] = super().get_fields()
        record = self.Meta.record
        found = {}
        for source in record._fields:
            name, optional = camel_case(source), is_optional(record, source)
            options: dict[str, Any] = {
                "required": not optional,
                "allow_null": optional,
                "source": None if source == name else source,
            }
            kind = types_of(record)[source]
            found[name] = declared.pop(name, None) or TypedField(kind, **options)
            found[name].kind = kind
        return found | declared

    @cached_property
    def members(self) -> list[Member]:
        found = []
        field: Any
        for name, field in self.fields.items():
            plain = isinstance(field, TypedField) and not field.validators
            check = field.kind.check if plain else field.run_validation
            hook = getattr(self, f"validate_{name}", None)
            found.append(Member(name, str(field.source), field, check, hook))
        return found

    @cached_property
    def in_order(self) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
        """What takes the record's values out of a dict. Of a single one it would make no tuple."""
        return itemgetter(*self.Meta.record._fields)

    @cached_property
    def unsent(self) -> dict[str, Any]:
        """What fields hold that are not sent, by their names."""
        return not_sent(self.Meta.record)

    @cached_property
    def lists(self) -> dict[str, Any]:
        """The members that are lists of objects, with the serializer of the objects."""
        lists = (one for one in self.members if isinstance(one.field, RecordListSerializer))
        return {member.name: member.field.child for member in lists}

    @cached_property
    def known(self) -> frozenset[str]:
        """The members that nobody is told are unknown."""
        return self.beside.union(self.fields)

    def run_validation(self, data: Any = empty) -> Any:
        """Return the record, or what else `to_record` makes.

        Raises:
            InvalidBody: with a place for each wrong value, up to `MAX_ERRORS`.
        """
        values = self.to_internal_value(data)
        try:
            if self.validators:
                self.run_validators(values)
            values = self.validate(values)
        except (ApiError, serializers.ValidationError, DjangoValidationError) as error:
            raise InvalidBody(errors_of(error)) from error
        return self.to_record(values)

    def to_record(self, values: dict[str, Any]) -> Any:
        return self.Meta.record._make(self.in_order(values))

    def refused(self, data: dict[str, Any]) -> list[ApiError]:
        """Return an error for each member that is refused, whatever it holds."""
        return []

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if type(data) is not dict:
            raise InvalidBody([invalid_type("an object", data)])
        values = self.unsent.copy()
        if errors := self.refused(data):
            told = {error.field for error in errors}
            data = {name: value for name, value in data.items() if (name,) not in told}
        for name, source, field, check, hook in self.members:
            sent = data.get(name)
            try:
                if sent is not None:
                    value = check(sent)
                elif name in data and field.allow_null:
                    value = self.unsent.get(source)
                elif name in data or field.required:
                    raise Null if name in data else Required
                else:
                    continue
                values[source] = hook(value) if hook else value
            except (ApiError, serializers.ValidationError, DjangoValidationError) as error:
                errors += [one.within(name) for one in errors_of(error)]
                if len(errors) > MAX_ERRORS:
                    break
        if errors:
            raise InvalidBody(errors)
        return values

    def unknown_members(self, data: Any, pointer: str = "") -> Iterator[ApiError]:
        """Yield an error for each unknown member of any JSON value, in the order sent.

        Its field is the `pointer` to it, for the name is the caller's and told as sent.
        """
        if type(data) is not dict:
            return
        known, lists = self.known, self.lists
        # Most objects have nothing unknown. Then only their lists are looked into.
        for name in lists if known.issuperset(data) else data:
            value = data.get(name)
            if name not in known:
                token = shortened(name).replace("~", "~0").replace("/", "~1")
                yield UnknownMember(field=f"{pointer}/{token}")
            elif name in lists and type(value) is list:
                child = lists[name]
                plain = not child.lists and child.known
                for position, element in enumerate(value):
                    if type(element) is dict and not (plain and plain.issuperset(element)):
                        yield from child.unknown_members(element, f"{pointer}/{name}/{position}")


class ChangeSerializer(RecordSerializer):
    """A JSON object with some fields of a record (`Meta.fields`), none of which is required.

    What is validated is a dict of those that are sent, by their names. What else a cart or an item
    has is refused: the change would not change it.
    """

    @cached_property
    def beside(self) -> frozenset[str]:  # type: ignore[override]
        others = {*NewCart._fields, *Item._fields}.difference(self.Meta.fields)
        return READ_ONLY_MEMBERS.union(map(camel_case, others))

    def get_fields(self) -> dict[str, Any]:
        every = super().get_fields()
        found = {name: field for name, field in every.items() if name not in self.beside}
        for field in found.values():
            field.required = False
        return found

    @cached_property
    def unsent(self) -> dict[str, Any]:
        return {}

    def refused(self, data: dict[str, Any]) -> list[ApiError]:
        return [CannotChange(field=(name,)) for name in data if name in self.beside]

    def to_record(self, values: dict[str, Any]) -> Any:
        return values


class RecordListSerializer(serializers.ListSerializer):
    """A JSON array of objects. Too many are refused before they are looked at."""

    kind: ListOf  # which says how many it may hold

    def to_internal_value(self, data: Any) -> tuple[Any, ...]:
        self.kind.check_count(data)
        if not data and not self.allow_empty:
            raise Required("Send at least one item.")
        values: list[Any] = []
        errors: list[ApiError] = []
        child: Any = self.child
        for position, element in enumerate(data):
            try:
                values.append(child.run_validation(element))
            except ApiError as error:
                errors += error.within(position).errors
                if len(errors) > MAX_ERRORS:
                    break
        if errors:
            raise InvalidBody(errors)
        return tuple(values)
