"""A member of each type, and values of it: two that JSON may bring, and one that is refused."""

from typing import Any, NamedTuple


class Sample(NamedTuple):
    """`declared` is the type as a record's field has it, `code` the error of the `wrong` value."""

    declared: str
    first: Any
    second: Any
    wrong: Any
    code: str


SAMPLES = {
    "Line": Sample("Line(20)", "one", "two words", "x" * 21, "max_length"),
    "Paragraph": Sample("Paragraph(20)", "one\ntwo", " ", "x" * 21, "max_length"),
    "Currency": Sample("Currency()", "EUR", "USD", "eur", "invalid_currency"),
    "Integer": Sample("Integer(1, 9)", 1, 9, 0, "min_value"),
    "Price": Sample("PRICE", 1.5, 0, -1, "min_value"),
    "Guid": Sample(
        "Guid()",
        "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        "019aa8c1-5b1e-7c60-9d3f-0b8f6f1e2a34",
        "7c9e6679",
        "invalid_guid",
    ),
    "Choice": Sample('Choice(("red", "green"))', "red", "green", "blue", "invalid_type"),
}
