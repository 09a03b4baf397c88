"""The base of the operations' views: what a bearer may do, and how a body is read."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, Never
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls.converters import StringConverter
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from cartsvc.api import throttling
from cartsvc.api.headers import media_type
from cartsvc.api.operation import Operation
from cartsvc.concurrency_limit import COMPUTING, RECEIVING
from cartsvc.guids import parse_guid
from cartsvc.identity.bearer_tokens import REALM, bearer_of
from cartsvc.member_names import camel_case, shortened
from cartsvc.request_errors import (
    ApiErrors,
    InsufficientScope,
    InvalidGuid,
    MalformedJson,
    PayloadTooLarge,
    ProfileMismatch,
    UnsupportedMediaType,
)
from cartsvc.value_errors import InvalidType

# In the WSGI environ of a request whose body was read.
RECEIVED = "cartsvc.received"

# Integers of up to so many digits are within a double's range.
SAFE_DIGITS = 308


class JsonParser(BaseParser):
    """The parser of every operation. Its media type is checked by `Negotiation`."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the JSON object that the body is, unless too many bodies came at once."""
        view = parser_context["view"]
        with RECEIVING.place_for(view.caller):
            body = _received(stream)
        with COMPUTING.place_for(view.caller):
            return json_object(body)


class Negotiation(BaseContentNegotiation):
    """Takes the media types of the operation. Accept is not negotiated: see `initial`."""

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: Any = None
    ) -> Any:
        only, *_ = renderers
        return only, only.media_type

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        content_type: Any = request.content_type
        taken = request.parser_context["view"].operation.media_types
        is_taken = content_type in taken or media_type(content_type) in taken
        if not is_taken and (content_type or has_body(request)):
            accepted = {"Accept-Patch": ", ".join(taken)} if request.method == "PATCH" else {}
            raise UnsupportedMediaType(
                taken=" or ".join(taken), field="Content-Type", headers=accepted
            )
        return next(iter(parsers))


class JsonRequest(Request):
    @property
    def stream(self) -> Any:
        """What the parser reads. The framework takes a chunked body for none, and none for {}."""
        return self._request


class GuidConverter(StringConverter):
    """Takes any part of a path. `check_permissions` refuses what is no GUID, in its turn."""

    def to_python(self, value: str) -> Any:
        return parse_guid(value) or value


class OperationViewSet(ViewSetMixin, APIView):
    """Views whose methods serve declared operations."""

    content_negotiation_class = Negotiation
    parser_classes = (JsonParser,)
    operation: Operation | None  # the one that is asked for; None if there is none of its method
    caller: Hashable  # as the concurrency limit knows it

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        self.action: Any = self.action_map.get(request.method.lower())
        self.operation = getattr(self, self.action).operation if self.action else None
        request.META["cartsvc.operation"] = self.operation
        return JsonRequest(
            request,
            parsers=self.get_parsers(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )

    def perform_authentication(self, request: Any) -> None:
        request.user = bearer_of(request.META.get("HTTP_AUTHORIZATION", ""))

    def check_permissions(self, request: Any) -> None:
        """Require a scope of the operation, GUIDs in the path, and the token's own profile there.

        These are checked in this order.
        """
        bearer, operation = request.user, self.operation
        if operation and bearer.scopes.isdisjoint(operation.scopes):
            challenge = f'{REALM}, error="insufficient_scope", scope="{operation.scopes[-1]}"'
            raise InsufficientScope(
                scopes=" or ".join(operation.scopes), headers={"WWW-Authenticate": challenge}
            )
        keys = self.kwargs.items()
        if wrong := [camel_case(name) for name, value in keys if not isinstance(value, UUID)]:
            raise ApiErrors([InvalidGuid(name=name, field=name) for name in wrong])
        if bearer.profile_key is None:
            # An issuer may have dropped the claim without a word.
            scope = settings.ANY_PROFILE_SCOPE
            if settings.JWT_REQUIRE_PROFILE and scope not in bearer.scopes:
                text = f"The token has neither a profileKey claim nor the scope {scope}."
                raise ProfileMismatch(text, field="profileKey")
        elif bearer.profile_key != self.kwargs["profile_key"]:
            raise ProfileMismatch(field="profileKey")

    def check_throttles(self, request: Any) -> None:
        if settings.THROTTLE_RATE:
            throttling.check_rate(request, request.user)


def has_body(request: HttpRequest | Request) -> bool:
    return request.META.get("CONTENT_LENGTH") not in {None, "", "0"} or is_chunked(request)


def is_chunked(request: HttpRequest | Request) -> bool:
    """Return whether the body came in chunks, so that only the end of its stream ends it."""
    meta = request.META
    return "HTTP_TRANSFER_ENCODING" in meta and bool(meta.get("wsgi.input_terminated"))


def _received(request: HttpRequest) -> bytes:
    """Return the body. Refuse one that is encoded, too large or not whole."""
    if "HTTP_CONTENT_ENCODING" in request.META:
        raise UnsupportedMediaType(
            "The body must be sent without a Content-Encoding.", field="Content-Encoding"
        )
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
    request.META[RECEIVED] = True
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
    except RecursionError:
        raise MalformedJson("The body is nested too deep.") from None
    if not isinstance(value, dict):
        raise InvalidType("The body must be a JSON object.", field=())
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        text = f"The body has an object that names the same member twice: {shortened(twice)}."
        raise MalformedJson(text)
    return members


def _integer(literal: str) -> int:
    if len(literal) > SAFE_DIGITS and isinf(float(literal)):
        raise MalformedJson(f"The body has a number that is out of range: {shortened(literal)}.")
    return int(literal)


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
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_decimal, parse_constant=_constant
).decode
