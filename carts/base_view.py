"""How the operations read a request: the bearer's carts, the headers and the body."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet
from uuid_utils.compat import uuid7

from carts.cart_errors import IdempotencyKeyReused, RequestInProgress, VersionMismatch
from carts.models import Cart, IdempotencyRecord
from carts.models.change import Author
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.models.manager import CartManager
from carts.serializers import WireSerializer
from cartsvc.api.envelope import success
from cartsvc.api.headers import entity_tag, prefers_strict, versions
from cartsvc.api.operation import Operation, operation_of
from cartsvc.api.strict_json import fingerprint, json_object, received
from cartsvc.fairness import ARRIVING, CHANGE_SECONDS, CHANGING, PROGRAM_SECONDS, WORKING
from cartsvc.identity.bearer_tokens import bearer_of
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors, InvalidHeader
from cartsvc.serving.metrics import Counter

RECORDED = Counter("cartsvc_idempotency_records", "Idempotency-Keys recorded.")

IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{KEY_MAX_LENGTH}}}")

WARNINGS = 10


class CartServiceViewSet(ViewSet):
    """The base of the operations: the bearer's carts, and how a request is read."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    tag: ClassVar[str]  # the API document's; the docstring describes it
    warnings: Sequence[ApiError] = ()  # of the success

    @property
    def operation(self) -> Operation:
        """The operation that is served; no request comes to a method without (`MayPass`)."""
        operation = operation_of(self, self.action)
        assert operation is not None  # noqa: S101
        return operation

    @property
    def caller(self) -> str:
        """The bearer, as the queue knows it."""
        return f"bearer {bearer_of(self.request).subject}"

    @property
    def strict(self) -> bool:
        """Whether the caller prefers strict handling: unknown members are refused."""
        return prefers_strict(self.request.META.get("HTTP_PREFER", ""))

    def handle_exception(self, exc: Exception) -> Any:
        """Add the headers that the models know nothing of: those that were read here."""
        match exc:
            case VersionMismatch():
                exc.field, exc.headers = "If-Match", {"ETag": entity_tag(exc.details["version"])}
            case IdempotencyKeyReused() | RequestInProgress():
                exc.field = "Idempotency-Key"
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Name the preference that was applied, on errors as well."""
        operation = operation_of(self, self.action)
        if operation and "Prefer" in operation.takes and self.strict:
            response["Preference-Applied"] = "handling=strict"
        return super().finalize_response(request, response, *args, **kwargs)

    def read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body and its values, unless too many bodies came at once."""
        with ARRIVING.thread_of(self.caller, PROGRAM_SECONDS):
            sent = received(self.request, self.operation.media_types)
        with WORKING.thread_of(self.caller, PROGRAM_SECONDS):
            body = json_object(sent)
            return body, self._values(body)

    def _values(self, body: dict[str, Any]) -> dict[str, Any]:
        serializer: WireSerializer = self.operation.body
        limit = MAX_ERRORS + 1 if self.strict else WARNINGS
        unknown = list(islice(serializer.unknown_members(body), limit))
        try:
            values = serializer.run_validation(body)
        except ApiError as error:
            if self.strict:
                raise ApiErrors([*unknown, *error.errors]) from None
            # A misspelt member that is required is missing, and unknown as well.
            error.warnings = unknown
            raise
        if self.strict and unknown:
            raise ApiErrors(unknown)
        self.warnings = unknown
        return values

    def success(self, data: str | None = None, *, version: int | None = None) -> HttpResponse:
        """Return the operation's success with the JSON text `data`, and the `version` as ETag."""
        response = success(self.operation.message, data, self.warnings)
        if version is not None:
            response["ETag"] = entity_tag(version)
        return response

    def change(self, write: Callable[..., int], **keys: UUID) -> HttpResponse:
        """Change what has these keys as the body says. `write` is a method of the manager."""
        expected = self.expected_versions()
        _, values = self.read()
        with self.changing():
            version = write(**keys, values=values, version=expected, validate=False)
        return self.success(version=version)

    def changing(self) -> AbstractContextManager[None]:
        """Return a context for a change, which may wait for a row that somebody else holds."""
        return CHANGING.thread_of(self.caller, CHANGE_SECONDS)

    @property
    def carts(self) -> CartManager[Cart]:
        """The carts that the bearer may see and change, in the bearer's name."""
        bearer = bearer_of(self.request)
        author = Author("bearer", bearer.subject, self.request.META["cartsvc.request_id"])
        keys: dict[str, Any] = {"profile_key": self.kwargs["profile_key"]}
        if bearer.partner_key is not None:
            keys["partner_key"] = bearer.partner_key
        return Cart.objects.by(author, **keys)

    def expected_versions(self) -> frozenset[int] | None:
        """Return the versions in If-Match; None when any will do."""
        return versions(self.request.META.get("HTTP_IF_MATCH", "*"), "If-Match")

    def idempotency_key(self) -> str | None:
        """Return the Idempotency-Key; None when the request has none."""
        key = self.request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            raise InvalidHeader(
                f"Idempotency-Key must be 1 to {KEY_MAX_LENGTH} visible ASCII characters.",
                field="Idempotency-Key",
            )
        return key

    def create_once(
        self, name: str, key: str | None, body: dict[str, Any], write: Callable[[UUID], int]
    ) -> HttpResponse:
        """Call `write` with a new id, or find the id that this request created before.

        `write` returns the cart's version. The answer gives the id as the member `name`.
        """
        created_id, version = uuid7(), None
        # The path and the partner must be the same, too.
        partner_key = bearer_of(self.request).partner_key
        request = [self.action, self.kwargs, partner_key, body]
        with self.changing():
            if key is None:
                version = write(created_id)
            else:
                created_id, version = IdempotencyRecord.create_once(
                    self.kwargs["profile_key"], partner_key, key, fingerprint(request), write
                )
        response = self.success(f'{{"{name}":"{created_id}"}}', version=version)
        if version is None:
            response["Idempotent-Replayed"] = "true"
        elif key is not None:
            RECORDED.inc()
        return response
