"""Read a request body as one JSON object in UTF-8, or refuse it and say why."""

import hashlib
import json
from collections.abc import Collection
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, Never

import simplejson
from django.conf import settings
from django.http import HttpRequest

from cartsvc.api.headers import media_type
from cartsvc.request_errors import InvalidType, MalformedJson, PayloadTooLarge, UnsupportedMediaType

# Integers of up to so many digits are within a double's range.
SAFE_DIGITS = 308

TOO_DEEP = "The body is nested too deep."


def received(request: HttpRequest, media_types: Collection[str]) -> bytes:
    """Return the body. Refuse other media types, one that is too large or not whole, and none."""
    # Django reads no further than Content-Length, which a chunked body does not have.
    chunked = "HTTP_TRANSFER_ENCODING" in request.META and request.META.get("wsgi.input_terminated")
    content_type = request.META.get("CONTENT_TYPE", "")
    if not (content_type or chunked) and request.META.get("CONTENT_LENGTH") in {None, "", "0"}:
        _malformed("The request has no body.")
    if media_type(content_type) not in media_types:
        raise UnsupportedMediaType(field="Content-Type")
    if "HTTP_CONTENT_ENCODING" in request.META:
        raise UnsupportedMediaType(
            "The body must be sent without a Content-Encoding.", field="Content-Encoding"
        )
    limit = settings.MAX_BODY_BYTES
    stream = request.META["wsgi.input"] if chunked else request
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        body: bytes = stream.read(limit + 1) if length <= limit else b""
    except (OSError, ValueError):
        _malformed("The body did not arrive whole.")
    if max(length, len(body)) > limit:
        raise PayloadTooLarge(limit=limit)
    if not chunked and len(body) < length:
        _malformed("The body did not arrive whole.")
    return body


def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object, or refuse what is none. Numbers with a point come as Decimal."""
    try:
        value = _decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        _malformed("The body is not UTF-8.")
    except json.JSONDecodeError as error:
        # Some of its messages end with "at", some do not.
        what, where = error.msg.removesuffix(" at"), f"line {error.lineno}, column {error.colno}"
        _malformed(f"The body is not JSON: {what} at {where}.")
    except RecursionError:
        _malformed(TOO_DEEP)
    if not isinstance(value, dict):
        raise InvalidType("The body must be a JSON object.", field="")
    return value


def fingerprint(values: Any) -> bytes:
    """Return a digest of JSON values: another for other values, whatever the members' order."""
    try:
        text = simplejson.dumps(values, sort_keys=True, use_decimal=True, default=str)
    except RecursionError:  # writing takes a little more of the stack than reading
        _malformed(TOO_DEEP)
    return hashlib.sha256(text.encode()).digest()


def _malformed(text: str) -> Never:
    raise MalformedJson(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        _malformed("The body has an object that names the same member twice.")
    return members


def _integer(literal: str) -> int:
    if len(literal) > SAFE_DIGITS and isinf(float(literal)):
        _malformed("The body has a number that is out of range.")
    return int(literal)


def _decimal(literal: str) -> Decimal:
    try:
        number = Decimal(literal)
    except InvalidOperation:  # the exponent has more digits than a Decimal's
        mantissa, _, exponent = literal.lower().partition("e")
        number = Decimal(mantissa).scaleb(-9999 if exponent.startswith("-") else 9999)
    if isinf(float(number)):
        _malformed("The body has a number that is out of range.")
    return number


def _constant(literal: str) -> Never:
    _malformed(f"The body has {literal}, which is not a JSON number.")


_decode = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_decimal, parse_constant=_constant
).decode
