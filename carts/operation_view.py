"""How the operations read a request: the bearer's carts, the headers and the body."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, cast

from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from carts.cart_errors import (
    IdempotencyKeyReused,
    ListedItemNotFound,
    RequestInProgress,
    VersionMismatch,
)
from carts.models import Cart, IdempotencyRecord
from carts.models.cart_change import Author
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.models.manager import CartManager
from carts.models.totals import Place
from carts.models.writes import Changed
from carts.record_serializers import InvalidBody
from cartsvc.api.envelope import entity_tag, success
from cartsvc.api.headers import preferences, versions
from cartsvc.api.json_body import OperationViewSet
from cartsvc.api.operation import Operation
from cartsvc.concurrency_limit import COMPUTING, WAITING
from cartsvc.identity.bearer_tokens import Bearer
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors, InvalidHeader

IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{KEY_MAX_LENGTH}}}")

READING_SCOPES = ("Cart.Read", "Cart.Write")

MAX_WARNINGS = 10

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


@dataclass
class Answer:
    """What a success answers with."""

    data: str | None = None  # JSON text
    version: int | None = None  # of the cart, after the change: the ETag

    def show(self, changed: Changed, **members: Any) -> None:
        """Show these members of the data, the cart's version, and the cart if it was read."""
        self.data, self.version = changed.json, changed.version
        if members:
            data = _encode(members)
            self.data = f'{data[:-1]},"cart":{changed.json}}}' if changed.json else data


class Replayed(Exception):
    """An earlier request with the key has made the change. The argument is its `Answer`."""


class CartServiceViewSet(OperationViewSet):
    """The base of the operations: the bearer's carts, and how a request is read."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    tag: ClassVar[str]  # the API document's; the docstring describes it
    operation: Operation
    bearer: Bearer
    expected: frozenset[int] | None = None  # the versions in If-Match; None when any will do
    key: str | None = None  # the Idempotency-Key
    is_strict = False  # unknown members are refused
    returns_cart = False  # the answer of a change shows the cart
    warnings: Sequence[ApiError] = ()  # of the success

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check all but the body, in the order of the contract.

        The body comes next, in `validated`, and then what only the models know. The framework
        would negotiate Accept here, too.
        """
        self.perform_authentication(request)
        self.check_permissions(request)
        self.check_throttles(request)
        if self.operation is None:  # the path does not have this method: 405 comes next
            return
        self.bearer = cast("Bearer", request.user)  # the type stubs know only Django's users
        self.caller = self.bearer.subject, self.bearer.profile_key
        taken, sent = self.operation.request_headers, request.META
        if "HTTP_PREFER" in sent and "Prefer" in taken:
            self._prefer(preferences(sent["HTTP_PREFER"]))
        wrong: list[ApiError] = []
        if "HTTP_IF_MATCH" in sent and "If-Match" in taken:
            try:
                self.expected = versions(sent["HTTP_IF_MATCH"], "If-Match")
            except InvalidHeader as error:
                wrong.append(error)
        if "HTTP_IDEMPOTENCY_KEY" in sent and "Idempotency-Key" in taken:
            self.key = sent["HTTP_IDEMPOTENCY_KEY"]
            if not IDEMPOTENCY_KEY.fullmatch(self.key):
                text = f"Idempotency-Key must be 1 to {KEY_MAX_LENGTH} visible ASCII characters."
                wrong.append(InvalidHeader(text, field="Idempotency-Key"))
        if wrong:
            raise ApiErrors(wrong)

    def _prefer(self, preferred: Mapping[str, str]) -> None:
        """Note what Prefer asks for, if the operation does it and the bearer may read carts."""
        if self.operation.body and preferred.get("handling") == "strict":
            self.is_strict = True
            self.headers["Preference-Applied"] = "handling=strict"
        if self.operation.can_return_representation and preferred.get("return") == "representation":
            self.returns_cart = not self.bearer.scopes.isdisjoint(READING_SCOPES)

    def handle_exception(self, exc: Exception) -> Any:
        """Answer a replay. Name what an error of the models is about as the caller does."""
        match exc:
            case Replayed():
                self.headers["Idempotent-Replayed"] = "true"
                return self.success(exc.args[0])
            case VersionMismatch():
                exc.field, exc.headers = "If-Match", {"ETag": entity_tag(exc.details["version"])}
            case IdempotencyKeyReused() | RequestInProgress():
                exc.field = "Idempotency-Key"
            case ApiErrors(errors=[ListedItemNotFound(), *_]):
                for error in exc.errors:
                    error.field = (*cast("Place", error.field)[:-1], "itemId")
        return super().handle_exception(exc)

    def validated(self) -> Any:
        """Return what the operation's serializer makes of the body."""
        body = self.request.data
        with COMPUTING.place_for(self.caller):
            serializer = self.operation.body
            limit = MAX_ERRORS + 1 if self.is_strict else MAX_WARNINGS
            unknown = list(islice(serializer.unknown_members(body), limit))
            try:
                values = serializer.run_validation(body)
            except InvalidBody as error:
                if self.is_strict:
                    raise InvalidBody([*unknown, *error.errors]) from None
                # A misspelt member that is required is missing, and unknown as well.
                error.warnings = unknown
                raise
            if self.is_strict and unknown:
                raise InvalidBody(unknown)
            self.warnings = unknown
            return values

    @contextmanager
    def change(self, *values: Any) -> Iterator[Answer]:
        """Make a change in the block. Raise `Replayed` before it if the key has made it already.

        `values` are the body's, which a replay must repeat. The block may wait for a cart that
        somebody else holds.
        """
        answer = Answer()
        with WAITING.place_for(self.caller):
            if self.key is None:
                yield answer
                return
            # The path and the partner must be the same, too.
            partner, profile_key = self.bearer.partner_key, self.kwargs["profile_key"]
            request = [self.action, self.kwargs, partner, self.expected, values]
            if self.returns_cart:
                request.append("return=representation")
            with transaction.atomic():
                record, is_new = IdempotencyRecord.claim(profile_key, partner, self.key, request)
                if is_new:
                    yield answer
                    record.answered(answer.data, answer.version)
            if not is_new:  # The transaction has committed its lock: see `claim`.
                raise Replayed(Answer(record.data, record.version))

    @property
    def carts(self) -> CartManager:
        """The carts that the bearer may see and change, in the bearer's name."""
        author = Author("bearer", self.bearer.subject, self.request.META["cartsvc.request_id"])
        keys: dict[str, Any] = {"profile_key": self.kwargs["profile_key"]}
        if self.bearer.partner_key is not None:
            keys["partner_key"] = self.bearer.partner_key
        carts = Cart.objects.by(author, **keys)
        carts.returns_cart = self.returns_cart
        return carts

    def success(self, answer: Answer) -> HttpResponse:
        """Return the operation's success."""
        response = success(self.operation.message, answer.data, self.warnings)
        if answer.version is not None:
            response["ETag"] = entity_tag(answer.version)
        if self.returns_cart:
            applied = ["handling=strict"] if self.is_strict else []
            self.headers["Preference-Applied"] = ", ".join([*applied, "return=representation"])
        return response
