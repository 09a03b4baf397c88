"""How an object is checked: the members of a body, or the fields of a record from Python.

There is one loop for both, and one walk over a body. Who calls says what the members are called,
and how each is checked. A check returns a value as it is kept. The check of an object or a list is
given its place, too, and adds to what was `Found` all that is wrong in it.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache, partial, wraps
from typing import Any, NamedTuple, TypeVar

from carts.record_types import ListOf, Record, Values, defaults_of, types_of
from carts.value_types import invalid_type
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors
from cartsvc.value_errors import InvalidType, InvalidValues, Null, Required

RecordT = TypeVar("RecordT")

# Where something is in what the caller sent.
Place = tuple[str | int, ...]


class Found(NamedTuple):
    """What is wrong, and where there are members that no object has, in the order sent."""

    errors: list[ApiError]
    unknown: list[Place]

    def add_error(self, error: ApiError, place: Place) -> None:
        """Add an error, or those that it holds, which are within this place."""
        for one in error.errors:
            one.field = (*place, *(one.field or ()))
            self.errors.append(one)


# Of an object or a list, at its place.
PlacedCheck = Callable[[Any, Place, Found], Any]


class Member(NamedTuple):
    """A member of an object: its name for the caller, and its check.

    A member that is not sent, or null, has the value `absent`. The `hook` gets the value of one
    that is sent, once it is checked.
    """

    name: str
    check: Callable[..., Any]  # a `PlacedCheck`, if it is a list
    is_list: bool
    is_required: bool
    absent: object
    hook: Callable[[Any], Any] | None = None


def object_check(
    members: Iterable[Member], names: Iterable[str], make: Callable[[list[Any]], Any]
) -> PlacedCheck:
    """Return the check of one kind of object.

    Nobody is told that `names` are unknown. `make` gets the values in the order of the members. An
    `ApiError` that a check raises is about the whole object or list: what is wrong within it has
    been added already, so there may be nothing left to tell.
    """
    # A plain tuple unpacks faster than a NamedTuple.
    every: list[tuple[Any, ...]] = [tuple(member) for member in members]
    names = frozenset(names)

    def check(sent: Any, place: Place, found: Found) -> Any:
        if type(sent) is not dict:
            raise invalid_type("an object", sent)
        values = []
        is_wrong, is_known = False, names.issuperset(sent)
        unknown_before = 0 if is_known else len(found.unknown)
        for name, check_value, is_list, is_required, absent, hook in every:
            value = sent.get(name)
            try:
                if value is None:
                    if is_required:
                        raise Null if name in sent else Required
                    value = absent
                elif is_list:
                    value = check_value(value, (*place, name), found)
                else:
                    value = check_value(value)
                values.append(hook(value) if hook and name in sent else value)
            except ApiError as error:
                is_wrong = True
                found.add_error(error, (*place, name))
        if not is_known:
            _add_unknown(names, sent, place, found.unknown, unknown_before)
        if is_wrong:
            raise ApiErrors([])
        return make(values)

    return check


def _add_unknown(
    names: Set[str], sent: Iterable[str], place: Place, unknown: list[Place], before: int
) -> None:
    """Add the places of unknown members to those in the object's lists, in the order sent."""
    order = {name: number for number, name in enumerate(sent)}
    unknown += [(*place, name) for name in sent if name not in names]
    unknown[before:] = sorted(unknown[before:], key=lambda one: order[str(one[len(place)])])


def by_name(names: Iterable[str], make: Callable[[Values], Any]) -> Callable[[list[Any]], Any]:
    """Return what gives `make` the values by these names, for `object_check`."""
    return lambda values: make(dict(zip(names, values, strict=True)))


def checked_list(
    kind: ListOf, check: PlacedCheck, elements: Any, place: Place, found: Found
) -> tuple[Any, ...]:
    """Return the checked elements. No more errors are looked for than an answer lists.

    Raises:
        ApiError: as `object_check` says.
    """
    kind.check_count(elements)
    values = []
    for position, element in enumerate(elements):
        try:
            # Unpacking would take twice as long.
            values.append(check(element, place + (position,), found))  # noqa: RUF005
        except ApiError as error:
            found.add_error(error, (*place, position))
            if len(found.errors) > MAX_ERRORS:
                break
    if len(values) < len(elements):
        raise ApiErrors([])
    return tuple(values)


def checked(check: PlacedCheck, sent: object) -> tuple[Any, Found]:
    """Return what a check makes of all that was sent, and what was found in it."""
    value, found = None, Found([], [])
    try:
        value = check(sent, (), found)
    except ApiError as error:
        found.add_error(error, ())
    return value, found


@cache
def maker(record: Record) -> Callable[[Iterable[Any]], Any]:
    """Return what makes the record of checked values, which are in the order of its fields.

    A record's `completed` returns it with what depends on several values, or raises what is wrong.
    """
    make = partial(tuple.__new__, record)
    complete = getattr(record, "completed", None)
    return (lambda values: complete(make(values))) if complete else make


@cache
def _members_in_python(record: Record) -> list[Member]:
    defaults = defaults_of(record)
    return [
        Member(
            name,
            partial(_list_in_python, kind) if isinstance(kind, ListOf) else kind.check_python,
            is_list=isinstance(kind, ListOf),
            is_required=name not in defaults,
            absent=defaults.get(name),
        )
        for name, kind in types_of(record).items()
    ]


@cache
def _record_check(record: Record) -> PlacedCheck:
    return object_check(_members_in_python(record), record._fields, maker(record))


def _list_in_python(kind: ListOf, elements: Iterable[Any], place: Place, found: Found) -> Any:
    check = partial(_element_in_python, kind.record)
    return checked_list(kind, check, list(elements), place, found)


def _element_in_python(record: Record, value: object, place: Place, found: Found) -> Any:
    if isinstance(value, record):
        return value
    if not isinstance(value, Mapping):
        raise InvalidType(wanted=f"{record.__name__} or dict", sent=type(value).__name__)
    return _record_check(record)(_named(record, value), place, found)


def _named(record: Record, values: Mapping[str, object]) -> Values:
    if other := [str(name) for name in values if name not in record._fields]:
        names = ", ".join(record._fields)
        raise TypeError(f"{record.__name__} takes no {', '.join(other)}, only {names}.")
    return {**values}


def checked_changes(record: Record, changes: Mapping[str, object]) -> Values:
    """Return some values of a record, by their names.

    Raises:
        TypeError: a name that the record does not have, or a list that is none.
        InvalidValues: each value that the specification does not allow.
    """
    members = [member for member in _members_in_python(record) if member.name in changes]
    names = [member.name for member in members]
    return _checked_in_python(record, object_check(members, names, by_name(names, dict)), changes)


def _checked_in_python(record: Record, check: PlacedCheck, values: Mapping[str, object]) -> Any:
    value, found = checked(check, _named(record, values))
    if found.errors:
        raise InvalidValues(found.errors)
    return value


def checked_record(record: type[RecordT]) -> type[RecordT]:
    """Let the class of a record check the values that it is given (a decorator)."""

    @wraps(record.__new__)  # so that help() and completion name the fields
    def new(cls: Record, **values: object) -> Any:
        return _checked_in_python(cls, _record_check(cls), values)

    def replace(self: Record, **changes: object) -> Any:
        return type(self)(**{**self._asdict(), **changes})

    # A NamedTuple's own may not be in its body.
    changed: Any = record
    changed.__new__, changed._replace = new, replace
    return record
