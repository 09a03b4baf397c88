"""The wire types of the specification: strict, and as sent.

The framework's own fields convert ("5" becomes 5, " a " becomes "a") and run a chain of
validators. These check once, in `to_internal_value`; their limits come from the model.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Never

from rest_framework import serializers

from carts.validators import exact_price


class TextField(serializers.CharField):
    """string(n): a JSON string of at most n code points, never trimmed or normalised."""

    max_length: int

    def __init__(self, *, validators: Sequence[Callable[[str], None]] = (), **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)
        self.checks = validators

    def to_internal_value(self, data: Any) -> str:
        if type(data) is not str:
            refuse_type("a string", data)
        if len(data) > self.max_length:
            raise serializers.ValidationError(
                f"This text must not be longer than {self.max_length} characters; "
                f"it has {len(data)}.",
                code="max_length",
            )
        for check in self.checks:
            check(data)
        return data


class IntegerField(serializers.IntegerField):
    """int and int64: a JSON integer within its bounds; 5.0 is the same number as 5."""

    min_value: int
    max_value: int

    def to_internal_value(self, data: Any) -> int:
        if type(data) is Decimal and data == data.to_integral_value():
            data = int(data)
        if type(data) is not int:
            refuse_type("an integer", data)
        if data < self.min_value:
            raise serializers.ValidationError(
                f"This number must not be below {self.min_value}.", code="min_value"
            )
        if data > self.max_value:
            raise serializers.ValidationError(
                f"This number must not be above {self.max_value}.", code="max_value"
            )
        return int(data)


class PriceField(serializers.DecimalField):
    """double, for prices: a JSON number, kept exactly."""

    def to_internal_value(self, data: Any) -> Decimal:
        if type(data) is not int and type(data) is not Decimal:
            refuse_type("a number", data)
        return exact_price(data)


class LimitedListSerializer(serializers.ListSerializer):
    """A JSON array of at most `limit()` objects.

    Refused before its elements are looked at, so that a flood costs little.
    """

    def to_internal_value(self, data: Any) -> list[Any]:
        if type(data) is not list:
            refuse_type("an array", data)
        self.child.check_count(len(data))  # type: ignore[union-attr]
        return list(super().to_internal_value(data))


JSON_TYPES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    Decimal: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


def refuse_type(wanted: str, data: Any) -> Never:
    """Raise `invalid_type`."""
    raise serializers.ValidationError(
        f"This must be {wanted}, not {JSON_TYPES[type(data)]}.", code="invalid_type"
    )
