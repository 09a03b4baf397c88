"""What can be wrong with a value, wherever it comes from: one exception class each."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError

from cartsvc.request_errors import ApiError, ApiErrors


class InvalidValue(ApiError, ValidationError):
    """A value that is not allowed. Forms and models take it for Django's ValidationError."""

    code = "invalid"  # of one that is no subclass, but a hook's own

    def __init__(self, text: str | None = None, **details: Any) -> None:
        super().__init__(text, **details)
        self.code = type(self).code  # ValidationError's own constructor has left it empty


class InvalidValues(ApiErrors, ValidationError):  # type: ignore[misc] # its code may be None
    """Several values that are not allowed, by their places, such as `items[0].options[1].price`."""

    def __init__(self, errors: Sequence[ApiError]) -> None:
        super().__init__(errors)
        self.error_dict: dict[str, Any] = {error.path: [error] for error in errors}


class Required(InvalidValue):
    text = "This field is required."
    remedy = "Send it."


class Null(InvalidValue):
    text = "This field must not be null."
    remedy = "Send a value."


class Blank(InvalidValue):
    text = "This text must not be blank."
    meaning = "A text is empty, or nobody can see any character of it."
    remedy = "Send at least one character that can be seen."


class MaxLength(InvalidValue):
    text = "This text must not be longer than %(limit)d characters; it has %(length)d."
    facts = ("limit", "length")
    meaning = "A text has more Unicode code points than its limit."
    remedy = "Shorten it."


class MinValue(InvalidValue):
    text = "This number must not be below %(limit)s."
    facts = ("limit",)
    meaning = "A number is below its limit."
    remedy = "Send a number within the limits."


class MaxValue(InvalidValue):
    text = "This number must not be above %(limit)s."
    facts = ("limit",)
    meaning = "A number is above its limit."
    remedy = "Send a number within the limits."


class InvalidType(InvalidValue):
    text = "This must be %(wanted)s, not %(sent)s."
    meaning = (
        'A value is of another JSON type, or none of the words that it may be: "5" and true are '
        "not numbers, 5.5 is not an integer."
    )
    remedy = "Send the type that the API document names."


class ControlCharacter(InvalidValue):
    text = "This text holds U+%(code_point)04X: a control character, separator or lone surrogate."
    meaning = "A text holds a character that a printer takes for a command, or a lone surrogate."
    remedy = "Remove it. Tabs and line breaks may stand in note and specialInstructions."
