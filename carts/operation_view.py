"""What every operation asks of a request: the headers, the body, and the bearer's carts."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from carts.cart_bearer import CartBearer
from carts.cart_errors import (
    IdempotencyKeyReused,
    ListedItemNotFound,
    RequestInProgress,
    VersionMismatch,
)
from carts.models import Cart, IdempotencyRecord
from carts.models.cart_change import NAME_LENGTH, Author
from carts.models.idempotency import KEY_MAX_LENGTH, Answer
from carts.models.manager import CartManager
from carts.models.writes import Outcome
from carts.value_types import checked
from cartsvc.api.envelope import entity_tag, object_text, success
from cartsvc.api.headers import preferences, versions
from cartsvc.api.json_body import check_media_type, has_body, json_object, received_body
from cartsvc.concurrency_limit import COMPUTING, RECEIVING, WAITING
from cartsvc.guids import check_guids
from cartsvc.identity.bearer_tokens import bearer_of
from cartsvc.json_values import compact_json
from cartsvc.member_names import MAX_UNKNOWN, json_pointer, shortened
from cartsvc.request_errors import ApiError, ApiErrors, InvalidHeader, UnknownMember

IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{KEY_MAX_LENGTH}}}")

# The headers that say how an operation is to be done, as WSGI names them.
READ_HEADERS = {"HTTP_PREFER", "HTTP_IF_MATCH", "HTTP_IDEMPOTENCY_KEY"}

READING_SCOPES = ("Cart.Read", "Cart.Write")


class OperationView(ViewSetMixin, APIView):
    """The base of the operations' views.

    `initial` checks all but the body, `validated` the body, and `change` makes the change. That is
    the contract's order. What they ask for stands in the operation's declaration.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    parser_classes = ()
    tag: ClassVar[str]  # the API document's; the docstring describes it
    operation: Any  # the `Operation` that the request asks for
    bearer: CartBearer
    caller: tuple[str, UUID | None]  # who holds the seats of the request
    expected: frozenset[int] | None = None  # the versions in If-Match; None when any will do
    key: str | None = None  # the Idempotency-Key
    sent: object = None  # the body's values, which a replay must repeat
    is_strict = False  # unknown members are errors
    returns_cart = False  # the answer of a change shows the cart
    warnings: Sequence[ApiError] = ()  # of the success

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Return none: only a 405 has Allow."""
        return {}

    def initialize_request(self, request: HttpRequest, *args: object, **kwargs: object) -> Any:
        """Look up the operation, None if the path does not have the method.

        The framework's own request would look everything up in Django's. What it does beside, we
        do not use: parse, negotiate and authenticate.
        """
        self.action: Any = self.action_map.get(str(request.method).lower())
        self.operation = getattr(self, self.action).operation if self.action else None
        request.META["cartsvc.operation"] = self.operation
        return request

    def initial(self, request: HttpRequest, *args: object, **kwargs: Any) -> None:
        """Check the token, its scope, the path, its profile, and the headers.

        The framework would negotiate Accept here, too. If the path does not have the method, 405
        comes after this.
        """
        headers = request.META
        bearer = self.bearer = bearer_of(headers.get("HTTP_AUTHORIZATION", ""), CartBearer)
        request.user = bearer  # type: ignore[assignment] # the stubs know only Django's users
        if self.operation:
            bearer.check_scope(self.operation.scopes, needs_all=self.operation.needs_all_scopes)
        check_guids(kwargs)
        bearer.check_profile(kwargs.get("profile_key"))
        self.caller = bearer.sub, bearer.profile_key
        if self.operation and not headers.keys().isdisjoint(READ_HEADERS):
            self._read_headers(headers)

    def _read_headers(self, sent: Mapping[str, str]) -> None:
        """Read Prefer, If-Match and Idempotency-Key, those that the operation takes."""
        taken = self.operation.request_headers
        errors: list[ApiError] = []
        if "HTTP_PREFER" in sent and "Prefer" in taken:
            preferred = preferences(sent["HTTP_PREFER"])
            self.is_strict = bool(self.operation.body) and preferred.get("handling") == "strict"
            if self.operation.can_return_representation and not self.bearer.scopes.isdisjoint(
                READING_SCOPES
            ):
                self.returns_cart = preferred.get("return") == "representation"
            if self.is_strict:
                self.headers["Preference-Applied"] = "handling=strict"
        if "HTTP_IF_MATCH" in sent and "If-Match" in taken:
            try:
                self.expected = versions(sent["HTTP_IF_MATCH"], "If-Match")
            except InvalidHeader as error:
                errors.append(error)
        if "HTTP_IDEMPOTENCY_KEY" in sent and "Idempotency-Key" in taken:
            self.key = sent["HTTP_IDEMPOTENCY_KEY"]
            if not IDEMPOTENCY_KEY.fullmatch(self.key):
                text = f"Idempotency-Key must be 1 to {KEY_MAX_LENGTH} visible ASCII characters."
                errors.append(InvalidHeader(text, field="Idempotency-Key"))
        if errors:
            raise ApiErrors(errors)

    def validated(self) -> Any:
        """Return what the operation's serializer makes of the body; None of none, if it may be."""
        may_be_none = self.operation.body_is_optional
        if not may_be_none or has_body(self.request):
            check_media_type(self.request, self.operation.media_types)
        with RECEIVING.seat_for(self.caller):
            body = received_body(self.request)
        with COMPUTING.seat_for(self.caller):
            # Some generated clients send null for a body that is not given.
            if may_be_none and body.strip() in {b"", b"null"}:
                return None
            asked = self.operation.body
            values, (errors, unknown) = checked(asked.body_check, json_object(body))
            warnings: list[ApiError] = [
                UnknownMember(field=json_pointer((*place, shortened(str(name)))))
                for *place, name in unknown[:MAX_UNKNOWN]
            ]
            if self.is_strict or asked.refuses_unknown:
                errors, warnings = [*warnings, *errors], []
            if errors:
                invalid = ApiErrors(errors)
                # A misspelt member that is required is missing, and unknown as well.
                invalid.warnings = warnings
                raise invalid
        self.warnings, self.sent = warnings, values
        return values

    def carts(self, **keys: object) -> CartManager:
        """Return the carts that the bearer may see and change, in the bearer's name."""
        name, request_id = self.bearer.sub, self.request.META["cartsvc.request_id"]
        author = Author("bearer", name[:NAME_LENGTH], request_id)
        of_bearer = {**keys, "profile_key": self.kwargs["profile_key"], **self.bearer.keys}
        return Cart.objects.by(author, returns_cart=self.returns_cart, **of_bearer)

    def change(
        self, make: Callable[..., Outcome | None], *values: object, **made: object
    ) -> HttpResponse:
        """Make a change, once if there is an Idempotency-Key, and answer it.

        `make` is a method of the manager that takes the ids in the path, these `values`, and the
        `version` of a cart that is there. `made` are members of the answer's data. The change may
        wait for a cart that somebody else holds.
        """
        ids = [key for name, key in self.kwargs.items() if name != "profile_key"]
        expected = {"version": self.expected} if ids else {}
        with WAITING.seat_for(self.caller), transaction.atomic() if self.key else nullcontext():
            record = self._record(ids) if self.key else None
            if record is None or record.is_new:
                answer = _answer_of(make(self.carts(), *ids, *values, **expected), made)
                if record:
                    record.keep(answer)
        if record and not record.is_new:  # the transaction has committed its lock
            self.headers["Idempotent-Replayed"] = "true"
            answer = record.kept
        return self.answer(answer)

    def _record(self, ids: Sequence[UUID]) -> IdempotencyRecord:
        """Return the record of the request, or of the same request sent before."""
        expected = None if self.expected is None else sorted(self.expected)
        # A text is encoded much faster than a list.
        parts = {
            "path": f"{self.operation.name} {ids}",
            "If-Match": f"{expected}",
            "body": self.sent,
            "preference": f"{self.returns_cart}",
        }
        profile_key, partner = self.kwargs["profile_key"], self.bearer.partner_key
        return IdempotencyRecord.of_request(profile_key, partner, str(self.key), parts)

    def answer(self, answer: Answer) -> HttpResponse:
        """Return the operation's success."""
        message = self.operation.message if answer.is_change else "Nothing was changed."
        response = success(message, answer.data, self.warnings)
        if answer.version is not None:
            response["ETag"] = entity_tag(answer.version)
        if answer.shows_cart:
            applied = ["handling=strict"] if self.is_strict else []
            self.headers["Preference-Applied"] = ", ".join([*applied, "return=representation"])
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """Name what an error of the models is about as the caller does."""
        match exc:
            case VersionMismatch():
                exc.field, exc.headers = "If-Match", {"ETag": entity_tag(exc.details["version"])}
            case IdempotencyKeyReused() | RequestInProgress():
                exc.field = "Idempotency-Key"
            case ApiErrors(errors=[ListedItemNotFound(), *_]):
                for error in exc.errors:
                    if isinstance(error.field, tuple):
                        error.field = (*error.field[:-1], "itemId")
        return super().handle_exception(exc)


def _answer_of(outcome: Outcome | None, made: Mapping[str, object]) -> Answer:
    """Return the answer to a change: the keys that it made, and the cart if it is shown."""
    if outcome is None:  # the cart is gone
        return Answer()
    version, _, cart, is_change = outcome
    data = cart
    if made:
        texts = {name: compact_json(keys) for name, keys in made.items()}
        data = object_text(texts | {"cart": cart} if cart else texts)
    return Answer(data, version, is_change, shows_cart=cart is not None)
