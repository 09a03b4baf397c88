"""Serializers of records: camelCase outside, the records of `carts.records` inside.

`validate` and `validate_<member>` are the framework's. Its own loop over the fields is replaced by
that of `carts.value_types`: the `body_check`. A serializer keeps nothing of what it checks, so the
operations share one.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers

from carts.cart_errors import CannotChange
from carts.checked_record import maker
from carts.models.cart_status import LAST_MEMBERS
from carts.models.reads import SHOWN_ONLY
from carts.records import Item, NewCart
from carts.value_types import (
    Found,
    ListOf,
    Member,
    ObjectCheck,
    Place,
    Record,
    Values,
    ValueType,
    defaults_of,
    is_optional,
    object_check,
    types_of,
)
from cartsvc.api.exception_handler import errors_of
from cartsvc.member_names import camel_case
from cartsvc.request_errors import ApiErrors

# What Get Cart and List Carts show beyond what is sent: it may be sent back, and sets nothing.
READ_ONLY_MEMBERS = frozenset(
    {
        *("itemId", "value", "cartId", "profileKey", "itemCount"),
        *map(camel_case, SHOWN_ONLY),
        *LAST_MEMBERS,
    }
)


class TypedField(serializers.Field):
    """A member of one of the specification's types, which check it."""

    def __init__(self, kind: ValueType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind


def hooked(validate: Callable[[Any], Any], value: Any) -> Any:
    """Return what a `validate` method returns. What it raises becomes errors of ours."""
    try:
        return validate(value)
    except (serializers.ValidationError, DjangoValidationError) as error:
        raise ApiErrors(errors_of(error)) from error


class RecordSerializer(serializers.Serializer):
    """A JSON object with the fields of a record, which is what is validated."""

    record: ClassVar[Record]
    # Members that may be sent beside the fields. They set nothing.
    ignored_members: ClassVar[frozenset[str]] = READ_ONLY_MEMBERS
    # Whether any other is an error of the body. Ignored, it would let more be done than was asked.
    refuses_unknown: ClassVar[bool] = False

    def get_fields(self) -> Values:
        """Return the fields of the record, which says what is optional, and any others."""
        declared: Values = super().get_fields()
        found = {}
        for source, kind in types_of(self.record).items():
            name, optional = camel_case(source), is_optional(self.record, source)
            field = found[name] = declared.pop(name, None) or TypedField(
                kind, source=None if source == name else source
            )
            field.kind, field.required, field.allow_null = kind, not optional, optional
        return found | declared

    @cached_property
    def body_check(self) -> ObjectCheck:
        return self._check_of(self.fields)

    def _check_of(self, fields: Mapping[str, Any]) -> ObjectCheck:
        """Return the check of an object of these fields."""
        sources = [field.source for field in fields.values()]

        def hooked_record(values: list[Any]) -> Any:
            by_source = dict(zip(sources, values, strict=True))
            return self.to_record(hooked(self.validate, by_source))

        plain = RecordSerializer.validate, RecordSerializer.to_record, [*self.record._fields]
        is_plain = (type(self).validate, type(self).to_record, sources) == plain
        make = maker(self.record) if is_plain else hooked_record
        members = [self._member(name, field) for name, field in fields.items()]
        return object_check(members, self.ignored_members.union(self.fields), make)

    def _member(self, name: str, field: Any) -> Member:
        kind, is_list = field.kind, isinstance(field.kind, ListOf)
        check = partial(kind.checked_list, field.child.body_check) if is_list else kind.check
        absent = defaults_of(self.record).get(field.source)
        hook = getattr(self, f"validate_{name}", None)
        hook = hook and partial(hooked, hook)
        return Member(name, check, is_list, not field.allow_null, absent, hook)

    def to_record(self, values: Values) -> Any:
        return maker(self.record)(map(values.__getitem__, self.record._fields))


class ChangeSerializer(RecordSerializer):
    """A JSON object with the `changeable` fields of a record, none of which is required.

    What is validated is a dict of those that are sent, by their names. What else a cart or an item
    has is an error: the change would not change it.
    """

    changeable: ClassVar[tuple[str, ...]]
    ignored_members = READ_ONLY_MEMBERS.union(map(camel_case, NewCart._fields + Item._fields))

    def get_fields(self) -> Values:
        every = super().get_fields()
        found = {name: every[name] for name in map(camel_case, self.changeable)}
        for field in found.values():
            field.required = False
        return found

    def body_check(self, sent: Any, place: Place, found: Found) -> Any:
        named = sent if type(sent) is dict else {}
        fields = {name: field for name, field in self.fields.items() if name in named}
        fixed = (name for name in named if name in self.ignored_members and name not in fields)
        found.errors.extend(CannotChange(field=(*place, name)) for name in fixed)
        return self._check_of(fields)(sent, place, found)

    def to_record(self, values: Values) -> Any:
        return values
