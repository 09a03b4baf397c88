"""The parameters of a query."""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from django.http import QueryDict

from cartsvc.member_names import MAX_UNKNOWN, shortened
from cartsvc.request_errors import ApiError, ApiErrors, InvalidParameter, UnknownParameter


class QueryParameter(NamedTuple):
    """How a parameter is read; what it must be, in words; and its value if it is not sent.

    `read` returns None for a text that the parameter must not be.
    """

    read: Callable[[str], Any]
    rule: str
    default: Any = None


def integer_between(lowest: int, highest: int) -> Callable[[str], int | None]:
    """Return what reads an integer within these limits."""

    def read(text: str) -> int | None:
        number = int(text) if re.fullmatch("-?[0-9]{1,10}", text) else lowest - 1
        return number if lowest <= number <= highest else None

    return read


def one_of(*words: str) -> QueryParameter:
    return QueryParameter(
        {word: word for word in words}.get, f"be one of these: {', '.join(words)}"
    )


def query_values(sent: QueryDict, parameters: Mapping[str, QueryParameter]) -> dict[str, Any]:
    """Return the parameters' values, in the order of `parameters`, or raise all that is wrong."""
    unknown = islice((name for name in sent if name not in parameters), MAX_UNKNOWN)
    errors: list[ApiError] = [UnknownParameter(field=shortened(name)) for name in unknown]
    values = dict[str, Any]()
    for name, (read, rule, default) in parameters.items():
        texts = sent.getlist(name)
        values[name] = read(texts[0]) if texts else default
        if len(texts) > 1 or (texts and values[name] is None):
            must = rule if len(texts) == 1 else "be sent once"
            errors.append(InvalidParameter(f"{name} must {must}.", field=name))
    if errors:
        raise ApiErrors(errors)
    return values
