"""How an object is checked: the members of a body, or the fields of a record from Python.

There is one loop for both. The types of `carts.value_types` check the values. Who calls says what
the members are called, and what else is done with a value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial, wraps
from typing import Any, NamedTuple, TypeVar, get_type_hints

from carts.value_types import ListOf
from cartsvc.member_names import shortened
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors
from cartsvc.value_errors import InvalidType, InvalidValues, Null, Required

Record = Any  # the class of a record, which is a NamedTuple with annotated types
RecordT = TypeVar("RecordT")

# Where something is in what the caller sent.
Place = tuple[str | int, ...]
Values = dict[str, Any]  # of a record, by its fields
FastCheck = Callable[[Any], Any]  # gives up at the first error: see `fast_object_check`


@cache
def types_of(record: Record) -> dict[str, Any]:
    """Return the type of each field, in their order: a `ValueType` or a `ListOf`."""
    hints = get_type_hints(record, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in record._fields}


@cache
def defaults_of(record: Record) -> Values:
    """Return what each field holds that was not sent: no elements of a list, else None."""
    lists = {name: () for name, kind in types_of(record).items() if isinstance(kind, ListOf)}
    return lists | record._field_defaults


def is_optional(record: Record, name: str) -> bool:
    """Return whether the field need not be sent."""
    return name in defaults_of(record)


class Member(NamedTuple):
    """A member of an object: its name for the caller, its field, and its check.

    The check of a list takes a second argument, to which it adds the places of unknown members.
    The `hook` gets what was checked.
    """

    name: str
    field: str
    check: Callable[..., Any]
    is_required: bool
    takes_null: bool
    is_list: bool = False
    hook: Callable[[object], object] | None = None
    fast_check: FastCheck | None = None


class ObjectCheck:
    """The checks of one kind of object.

    `initial` are the values of a record of which nothing was sent. `names` are those that nobody is
    told are unknown. `first_errors` finds errors whatever the values are, each in a member that is
    not checked any more. `complete` fills in what depends on other values.
    """

    def __init__(
        self,
        members: Iterable[Member],
        initial: Values,
        names: Iterable[str],
        first_errors: Callable[[Mapping[str, object]], list[ApiError]] | None = None,
        complete: Callable[[Values], None] | None = None,
    ) -> None:
        self.members, self.initial, self.names = [*members], initial, frozenset(names)
        self.first_errors, self.complete = first_errors, complete
        # Most members need no more than their check.
        self._checks = [
            (one.name, one.field, None if one.is_list or one.hook else one.check, one)
            for one in self.members
        ]

    def values_of(self, sent: Mapping[str, object], unknown: list[Place]) -> Values:
        """Return the values by their fields. Add the places of unknown members, in the order sent.

        Raises:
            ApiErrors: with a place for each wrong value. In lists, no more errors are looked for
                than an answer lists.
        """
        values = self.initial.copy()
        errors: list[ApiError] = []
        unknown_below: dict[str, list[Place]] = {}
        if self.first_errors and (errors := self.first_errors(sent)):
            sent = _without(errors, sent)
        for name, field, check_value, member in self._checks:
            value = sent.get(name)
            try:
                if check_value and value is not None:
                    values[field] = check_value(value)
                elif name in sent or member.is_required:
                    values[field] = self._value(member, sent, unknown_below)
            except ApiError as error:
                errors += error.within(name).errors
        if any(unknown_below.values()) or not self.names.issuperset(sent):
            unknown += self._unknown(sent, unknown_below)
        if errors:
            raise ApiErrors(errors)
        if self.complete:
            self.complete(values)
        return values

    def _value(
        self, member: Member, sent: Mapping[str, object], unknown_below: dict[str, list[Place]]
    ) -> object:
        value = sent.get(member.name)
        if value is None and not member.takes_null:
            raise Null if member.name in sent else Required
        if value is None:
            value = self.initial.get(member.field)
        elif member.is_list:
            value = member.check(value, unknown_below.setdefault(member.name, []))
        else:
            value = member.check(value)
        return member.hook(value) if member.hook else value

    def _unknown(
        self, sent: Mapping[str, object], below: Mapping[str, list[Place]]
    ) -> Iterator[Place]:
        for name in sent:
            if name not in self.names:
                yield (shortened(name),)
            for place in below.get(name, ()):
                yield (name, *place)


def fast_object_check(record: Record, object_check: ObjectCheck) -> FastCheck:
    """Return a check of one object of a list that makes its record, if nothing is wrong with it.

    It gives up with any `ApiError` at a wrong value or an unknown member. What is wrong, and where,
    `ObjectCheck.values_of` finds then.
    """
    names, initial = object_check.names, object_check.initial
    members = [
        (one.name, one.fast_check or one.check, one.takes_null, initial.get(one.field))
        for one in object_check.members
    ]
    make = partial(tuple.__new__, record)

    def check(sent: Any) -> Any:
        if type(sent) is not dict or not names.issuperset(sent):
            raise ApiErrors([])
        values = []
        for name, check_value, takes_null, default in members:
            value = sent.get(name)
            values.append(default if value is None and takes_null else check_value(value))
        return make(values)

    return check


def fast_list(kind: ListOf, check: FastCheck, elements: Any) -> tuple[Any, ...]:
    kind.check_count(elements)
    return tuple([check(element) for element in elements])


def _without(errors: list[ApiError], sent: Mapping[str, object]) -> Values:
    wrong = {error.field for error in errors}
    return {name: value for name, value in sent.items() if (name,) not in wrong}


def checked_list(
    kind: ListOf,
    check: Callable[[Any, list[Place]], object],
    elements: Iterable[object],
    unknown: list[Place],
    fast_check: FastCheck | None = None,
) -> tuple[object, ...]:
    """Return the checked elements. See `ObjectCheck.values_of`."""
    if fast_check:
        with suppress(ApiError):
            return fast_check(elements)
    kind.check_count(elements)
    found: list[object] = []
    errors: list[ApiError] = []
    for position, element in enumerate(elements):
        unknown_below: list[Place] = []
        try:
            found.append(check(element, unknown_below))
        except ApiError as error:
            errors += error.within(position).errors
            if len(errors) > MAX_ERRORS:
                break
        if unknown_below:
            unknown += [(position, *place) for place in unknown_below]
    if errors:
        raise ApiErrors(errors)
    return tuple(found)


def _list_in_python(
    kind: ListOf, elements: Iterable[object], unknown: list[Place]
) -> tuple[object, ...]:
    return checked_list(kind, partial(_record_in_python, kind.record), list(elements), unknown)


def _record_in_python(record: Record, value: object, _unknown: list[Place]) -> object:
    if isinstance(value, record):
        return value
    if not isinstance(value, Mapping):
        raise InvalidType(wanted=f"{record.__name__} or dict", sent=type(value).__name__)
    return record(**value)


@cache
def python_check(record: Record) -> ObjectCheck:
    """Return the check of the values that Python code gives a record."""
    members = []
    for name, kind in types_of(record).items():
        optional, is_list = is_optional(record, name), isinstance(kind, ListOf)
        check = partial(_list_in_python, kind) if is_list else kind.check_python
        members.append(Member(name, name, check, not optional, optional, is_list))
    first_errors = getattr(record, "first_errors", None)
    complete = getattr(record, "complete", None)
    return ObjectCheck(members, initial_values(record), record._fields, first_errors, complete)


def checked_record(record: type[RecordT]) -> type[RecordT]:
    """Let the class of a record check the values that it is given (a decorator)."""

    @wraps(record.__new__)  # so that help() and completion name the fields
    def new(cls: Record, **values: object) -> Any:
        return cls._make(checked_values(cls, values, python_check(cls)).values())

    def replace(self: Record, **changes: object) -> Any:
        return type(self)(**{**self._asdict(), **changes})

    # A NamedTuple's own may not be in its body.
    changed: Any = record
    changed.__new__, changed._replace = new, replace
    return record


def checked_changes(record: Record, changes: Mapping[str, object]) -> Values:
    """Return some values of a record, by their names.

    Raises:
        TypeError: a name that the record does not have, or a list that is none.
        InvalidValues: each value that the specification does not allow.
    """
    whole = python_check(record)
    named = [member for member in whole.members if member.name in changes]
    return checked_values(record, changes, ObjectCheck(named, {}, whole.names))


def checked_values(
    record: Record, values: Mapping[str, object], object_check: ObjectCheck
) -> Values:
    if other := [name for name in values if name not in object_check.names]:
        names = ", ".join(record._fields)
        raise TypeError(f"{record.__name__} takes no {', '.join(other)}, only {names}.")
    try:
        return object_check.values_of(values, [])
    except ApiErrors as error:
        raise InvalidValues(error.errors) from None


def initial_values(record: Record) -> Values:
    """Return the values of a record of which nothing was sent; None for what must be."""
    return dict.fromkeys(record._fields) | defaults_of(record)
