"""The JSON body of a request: its media type, its bytes, and the object that it is."""

import json
from collections import Counter
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, Never

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import parse_header_parameters

from cartsvc.member_names import shortened
from cartsvc.request_errors import MalformedJson, PayloadTooLarge, UnsupportedMediaType
from cartsvc.value_errors import InvalidType

# In the WSGI environ of a request whose body was read.
IS_RECEIVED = "cartsvc.received"

# Bytes of a Content-Type. Reading its parameters takes quadratic time.
CONTENT_TYPE_MAX_LENGTH = 200


def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type, in lower case and without parameters.

    It is empty for what nothing here takes: another charset, a multipart form, nonsense.
    """
    if len(content_type) > CONTENT_TYPE_MAX_LENGTH:
        return ""
    try:
        found, parameters = parse_header_parameters(content_type)
    except (ValueError, TypeError):
        return ""
    charset = parameters.get("charset", "utf-8").lower()
    if charset not in {"utf-8", "utf8"} or found.startswith("multipart/"):
        return ""
    return found


def has_body(request: HttpRequest) -> bool:
    return request.META.get("CONTENT_LENGTH") not in {None, "", "0"} or is_chunked(request)


def is_chunked(request: HttpRequest) -> bool:
    """Return whether the body came in chunks, so that only the end of its stream ends it."""
    meta = request.META
    return "HTTP_TRANSFER_ENCODING" in meta and bool(meta.get("wsgi.input_terminated"))


def check_media_type(request: HttpRequest, taken: tuple[str, ...]) -> None:
    """Raise `unsupported_media_type` if the body is of none of these media types, or encoded."""
    sent = request.META["CONTENT_TYPE"]  # as `SanitizedHeaders` has left it
    if sent not in taken and (sent or has_body(request)):
        accepted = {"Accept-Patch": ", ".join(taken)} if request.method == "PATCH" else {}
        raise UnsupportedMediaType(taken=" or ".join(taken), field="Content-Type", headers=accepted)
    if "HTTP_CONTENT_ENCODING" in request.META:
        raise UnsupportedMediaType(
            "The body must be sent without a Content-Encoding.", field="Content-Encoding"
        )


def received_body(request: HttpRequest) -> bytes:
    """Return the body. Raise `payload_too_large`, or `malformed_json` if it is not whole."""
    limit, chunked = settings.MAX_BODY_BYTES, is_chunked(request)
    # The framework ends a body where its length says, so it takes a chunked one for none.
    stream: Any = request.META["wsgi.input"] if chunked else request
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        body: bytes = stream.read(limit + 1) if length <= limit else b""
    except (OSError, ValueError):
        raise MalformedJson("The body did not arrive whole.") from None
    if max(length, len(body)) > limit:
        raise PayloadTooLarge(limit=limit)
    if not chunked and len(body) < length:
        raise MalformedJson("The body did not arrive whole.")
    request.META[IS_RECEIVED] = True
    return body


def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object, or refuse what is none. Numbers with a point come as Decimal."""
    if not body:
        raise MalformedJson("The request has no body.")
    try:
        value = _decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise MalformedJson("The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        # Some of its messages end with "at", some do not.
        what, where = error.msg.removesuffix(" at"), f"line {error.lineno}, column {error.colno}"
        raise MalformedJson(f"The body is not JSON: {what} at {where}.") from None
    except ValueError:  # Python's own limit of an integer's digits
        raise MalformedJson("The body has an integer of too many digits.") from None
    except RecursionError:
        raise MalformedJson("The body is nested too deep.") from None
    if not isinstance(value, dict):
        raise InvalidType("The body must be a JSON object.", field=())
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if not pairs:  # of all bodies, those of empty objects take the longest to refuse
        return {}
    members = dict(pairs)
    if len(members) != len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        text = f"The body has an object that names the same member twice: {shortened(twice)}."
        raise MalformedJson(text)
    return members


def _decimal(literal: str) -> Decimal:
    if isinf(float(literal)):
        raise MalformedJson(f"The body has a number that is out of range: {shortened(literal)}.")
    try:
        return Decimal(literal)
    except InvalidOperation:  # the exponent has more digits than a Decimal's: it is all but 0
        return Decimal(literal.lower().partition("e")[0]).scaleb(-9999)


def _constant(literal: str) -> Never:
    raise MalformedJson(f"The body has {literal}, which is not a JSON number.")


_decode = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_decimal, parse_constant=_constant
).decode
