"""Records by the types of their fields: what each holds, and what the history keeps of it.

A record is a NamedTuple whose fields are annotated with a type of `carts.value_types`, or with
`ListOf` other records.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from django.conf import settings

from carts.cart_errors import TooMany
from carts.value_types import ValueType, invalid_type
from cartsvc.value_errors import Required

Record = Any  # the class of a record
Values = dict[str, Any]  # of a record, by its fields


@dataclass(frozen=True)
class ListOf(ValueType):
    """An array of objects, each a record. `setting` names what limits their number, if anything.

    How the elements are checked, `carts.validation` knows.
    """

    record: Record
    plural: str
    setting: str | None
    allow_empty: bool = True

    def check_count(self, values: object) -> None:
        """Raise `invalid_type`, `required` or `too_many`, before the elements are checked."""
        if type(values) is not list:
            raise invalid_type("an array", values)
        if not values and not self.allow_empty:
            raise Required("Send at least one item.")
        if self.setting and len(values) > (limit := getattr(settings, self.setting)):
            raise TooMany(limit=limit, plural=self.plural)

    def written(self, value: Iterable[Any]) -> Any:
        return [written_values(self.record, one._asdict()) for one in value]

    def read_back(self, written: Any) -> tuple[Any, ...]:
        return tuple(stored_record(self.record, read_values(self.record, one)) for one in written)


@cache
def types_of(record: Record) -> dict[str, Any]:
    """Return the type of each field, in their order."""
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


def written_values(record: Record, values: Mapping[str, Any]) -> Values:
    """Return values, those of the record as the JSON of the history has them."""
    return _converted(values, _methods(record, "written"))


def read_values(record: Record, written: Mapping[str, Any]) -> Values:
    """Return the members of a stored JSON object, those of the record as its fields hold them."""
    return _converted(written, _methods(record, "read_back"))


@cache
def _methods(record: Record, method: str) -> dict[str, Callable[[Any], Any]]:
    """Return this method of each type that has one of its own, by the fields."""
    return {
        name: getattr(kind, method)
        for name, kind in types_of(record).items()
        if getattr(type(kind), method) is not getattr(ValueType, method)
    }


def _converted(values: Mapping[str, Any], methods: Mapping[str, Callable[[Any], Any]]) -> Values:
    found = {**values}
    for name, convert in methods.items():
        if values.get(name) is not None:
            found[name] = convert(values[name])
    return found


def stored_record(record: Record, values: Mapping[str, Any]) -> Any:
    """Return the record of values that were checked before. What is missing was not sent."""
    return record._make(map({**defaults_of(record), **values}.get, record._fields))
