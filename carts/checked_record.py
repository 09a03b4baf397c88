"""Records that check what Python code gives them, by the loop of `carts.value_types`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial, wraps
from typing import Any, TypeVar

from carts.value_types import (
    Found,
    ListOf,
    Member,
    ObjectCheck,
    Place,
    Record,
    Values,
    checked,
    defaults_of,
    object_check,
    types_of,
)
from cartsvc.value_errors import InvalidType, InvalidValues

RecordT = TypeVar("RecordT")


@cache
def maker(record: Record) -> Callable[[Iterable[Any]], Any]:
    """Return what makes the record of checked values, which are in the order of its fields.

    A record's `completed` returns it with what depends on several values, or raises what is wrong.
    """
    make = partial(tuple.__new__, record)
    complete = getattr(record, "completed", None)
    return (lambda values: complete(make(values))) if complete else make


@cache
def _record_check(record: Record) -> ObjectCheck:
    return _check_of(record, record._fields, maker(record))


def _check_of(record: Record, names: Iterable[str], make: Callable[[Any], Any]) -> ObjectCheck:
    """Return the check of these fields of a record."""
    types, defaults = types_of(record), defaults_of(record)
    members = [
        Member(
            name,
            partial(_list, types[name]) if is_list else types[name].check_python,
            is_list=is_list,
            is_required=name not in defaults,
            absent=defaults.get(name),
        )
        for name in names
        for is_list in [isinstance(types[name], ListOf)]
    ]
    return object_check(members, record._fields, make)


def _list(kind: ListOf, elements: Iterable[Any], place: Place, found: Found) -> Any:
    return kind.checked_list(partial(_element, kind.record), list(elements), place, found)


def _element(record: Record, value: object, place: Place, found: Found) -> Any:
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
    names = [name for name in record._fields if name in changes]
    check = _check_of(record, names, lambda values: dict(zip(names, values, strict=True)))
    return _checked(record, check, changes)


def _checked(record: Record, check: ObjectCheck, values: Mapping[str, object]) -> Any:
    value, found = checked(check, _named(record, values))
    if found.errors:
        raise InvalidValues(found.errors)
    return value


def checked_record(record: type[RecordT]) -> type[RecordT]:
    """Let the class of a record check the values that it is given (a decorator)."""

    @wraps(record.__new__)  # so that help() and completion name the fields
    def new(cls: Record, **values: object) -> Any:
        return _checked(cls, _record_check(cls), values)

    def replace(self: Record, **changes: object) -> Any:
        return type(self)(**{**self._asdict(), **changes})

    # A NamedTuple's own may not be in its body.
    changed: Any = record
    changed.__new__, changed._replace = new, replace
    return record
