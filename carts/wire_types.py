"""The wire types of the specification, which accept values only as sent.

The framework's own fields convert ("5" becomes 5, " a " becomes "a") and run a chain of
validators. These fields check once, in `to_internal_value`. Their limits come from the model.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from rest_framework import serializers

from carts.limits import exact_price
from cartsvc.request_errors import InvalidType, MaxLength, MaxValue, MinValue


class StringField(serializers.CharField):
    """The type string(n): a JSON string of at most n code points, never trimmed or normalised.

    Raises:
        ApiError: `invalid_type`, `max_length`, or the code of one of the `validators`.
    """

    max_length: int

    def __init__(self, *, validators: Sequence[Callable[[str], None]] = (), **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)
        self.checks = validators

    def to_internal_value(self, data: Any) -> str:
        if type(data) is not str:
            raise invalid_type("a string", data)
        if len(data) > self.max_length:
            raise MaxLength(limit=self.max_length, length=len(data))
        for check in self.checks:
            check(data)
        return data


class IntField(serializers.IntegerField):
    """The types int and int64: a JSON integer within bounds. 5.0 is the same number as 5.

    Raises:
        ApiError: `invalid_type`, `min_value`, `max_value`.
    """

    min_value: int
    max_value: int

    def to_internal_value(self, data: Any) -> int:
        if type(data) is Decimal and data == data.to_integral_value():
            data = int(data)
        if type(data) is not int:
            raise invalid_type("an integer", data)
        if data < self.min_value:
            raise MinValue(limit=self.min_value)
        if data > self.max_value:
            raise MaxValue(limit=self.max_value)
        return data


class DoubleField(serializers.DecimalField):
    """The type double, which only prices have: a JSON number, kept exactly.

    Raises:
        ApiError: `invalid_type`, and the codes of `exact_price`.
    """

    def to_internal_value(self, data: Any) -> Decimal:
        if type(data) is not int and type(data) is not Decimal:
            raise invalid_type("a number", data)
        return exact_price(data)


JSON_TYPES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    Decimal: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


def invalid_type(wanted: str, data: Any) -> InvalidType:
    return InvalidType(wanted=wanted, sent=JSON_TYPES[type(data)])
