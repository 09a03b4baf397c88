"""Serializers of records: camelCase outside, the records of `carts.records` inside.

`is_valid`, `validated_data`, `validate` and `validate_<member>` are the framework's. Its own loop
over the fields is replaced by `carts.validation`: the members of a class are looked up once, a
value is checked once by its type, and no more errors are looked for than an answer lists. A
serializer keeps nothing of what it checks, so the operations share one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.fields import empty

from carts.cart_errors import CannotChange
from carts.models.cart_status import LAST_MEMBERS
from carts.models.reads import SHOWN_ONLY
from carts.records import Item, NewCart
from carts.validation import (
    FastCheck,
    Member,
    ObjectCheck,
    Place,
    Record,
    Values,
    checked_list,
    fast_list,
    fast_object_check,
    initial_values,
    is_optional,
    python_check,
    types_of,
)
from carts.value_types import ListOf, ValueType, invalid_type
from cartsvc.api.exception_handler import errors_of
from cartsvc.member_names import camel_case, snake_case
from cartsvc.request_errors import ApiError, ApiErrors

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
    def detail(self) -> dict[str, list[serializers.ErrorDetail]]:  # type: ignore[override]
        found: dict[str, list[serializers.ErrorDetail]] = {}
        for error in self.errors:
            detail = serializers.ErrorDetail(error.sentence, error.code)
            found.setdefault(error.pointer or "", []).append(detail)
        return found


class TypedField(serializers.Field):
    """A member of one of the specification's types. It takes a value only as sent."""

    def __init__(self, kind: ValueType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind

    def run_validation(self, data: object = empty) -> Any:
        value = self.kind.check(data)
        self.run_validators(value)
        return value


def with_our_errors(check: Callable[..., Any]) -> Callable[..., Any]:
    """Return the framework's check of a value, which then raises errors of ours."""

    def checked(value: object) -> Any:
        try:
            return check(value)
        except (serializers.ValidationError, DjangoValidationError) as error:
            raise ApiErrors(errors_of(error)) from error

    return checked


class RecordSerializer(serializers.Serializer):
    """A JSON object with the fields of a record, which is what is validated."""

    record: ClassVar[Record]
    # Members beside the fields that nobody is told are unknown. They set nothing.
    ignored_members: ClassVar[frozenset[str]] = READ_ONLY_MEMBERS

    def get_fields(self) -> Values:
        declared: Values = super().get_fields()
        found = {}
        for source, kind in types_of(self.record).items():
            name, optional = camel_case(source), is_optional(self.record, source)
            options: Values = {
                "required": not optional,
                "allow_null": optional,
                "source": None if source == name else source,
            }
            found[name] = declared.pop(name, None) or TypedField(kind, **options)
            found[name].kind = kind
        return found | declared

    @cached_property
    def validators(self) -> list[Any]:
        return self.get_validators()

    @cached_property
    def object_check(self) -> ObjectCheck:
        of_python = python_check(self.record)
        return ObjectCheck(
            [self._member(name, field) for name, field in self.fields.items()],
            initial_values(self.record),
            self.ignored_members.union(self.fields),
            of_python.first_errors and partial(self._first_errors, of_python.first_errors),
            of_python.complete,
        )

    def _first_errors(
        self, find: Callable[[Values], list[ApiError]], sent: Mapping[str, object]
    ) -> list[ApiError]:
        own = {snake_case(name): value for name, value in sent.items() if name in self.fields}
        errors = find(own)
        for error in errors:
            error.field = tuple(camel_case(str(name)) for name in error.field or ())
        return errors

    def _member(self, name: str, field: Any) -> Member:
        check, is_list = with_our_errors(field.run_validation), isinstance(field.kind, ListOf)
        fast: FastCheck | None = None
        if is_list:
            if field.child.fast_check:
                fast = partial(fast_list, field.kind, field.child.fast_check)
            check = partial(checked_list, field.kind, field.child.checked, fast_check=fast)
        elif isinstance(field, TypedField) and not field.validators:
            check = fast = field.kind.check
        hook = getattr(self, f"validate_{name}", None)
        if hook:
            hook, fast = with_our_errors(hook), None
        optional = field.required, field.allow_null
        return Member(name, field.source, check, *optional, is_list, hook, fast)

    @cached_property
    def fast_check(self) -> FastCheck | None:
        """The fast check of an object, unless a hook of the serializer is to see its values."""
        whole, kind = self.object_check, type(self)
        hooks = [*self.validators, whole.first_errors, whole.complete]
        is_fast = (
            kind.validate is RecordSerializer.validate
            and kind.to_record is RecordSerializer.to_record
            and all(member.fast_check for member in whole.members)
        )
        return fast_object_check(self.record, whole) if is_fast and not any(hooks) else None

    def run_validation(self, data: object = empty) -> Any:
        """Return the record, or what else `to_record` makes. See `checked`."""
        return self.checked(data, [])

    def checked(self, data: object, unknown: list[Place]) -> Any:
        """Return what `to_record` makes. Add the places of unknown members, in the order sent.

        Raises:
            InvalidBody: with a place for each wrong value, up to `MAX_ERRORS`.
        """
        try:
            if type(data) is not dict:
                raise invalid_type("an object", data)
            values = self.object_check.values_of(data, unknown)
            if self.validators:
                self.run_validators(values)
            values = self.validate(values)
        except (ApiError, serializers.ValidationError, DjangoValidationError) as error:
            raise InvalidBody(errors_of(error)) from error
        return self.to_record(values)

    def to_record(self, values: Values) -> Any:
        return self.record._make(map(values.__getitem__, self.record._fields))


class ChangeSerializer(RecordSerializer):
    """A JSON object with the `changeable` fields of a record, none of which is required.

    What is validated is a dict of those that are sent, by their names. What else a cart or an item
    has is an error: the change would not change it.
    """

    changeable: ClassVar[tuple[str, ...]]

    @cached_property
    def ignored_members(self) -> frozenset[str]:  # type: ignore[override]
        others = {*NewCart._fields, *Item._fields}.difference(self.changeable)
        return READ_ONLY_MEMBERS.union(map(camel_case, others))

    def get_fields(self) -> Values:
        every = super().get_fields()
        found = {name: field for name, field in every.items() if name not in self.ignored_members}
        for field in found.values():
            field.required = False
        return found

    @cached_property
    def object_check(self) -> ObjectCheck:
        every = super().object_check
        return ObjectCheck(every.members, {}, every.names, self._fixed_members)

    def _fixed_members(self, data: Mapping[str, object]) -> list[ApiError]:
        return [CannotChange(field=(name,)) for name in data if name in self.ignored_members]

    def to_record(self, values: Values) -> Any:
        return values
