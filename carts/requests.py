"""How the operations read a request: the bearer's carts, the headers and the body."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any
from uuid import UUID

from prometheus_client import Counter
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet
from uuid_utils.compat import uuid7

from carts.errors import VersionMismatch
from carts.limits import INT64_MAX
from carts.models import Cart, IdempotencyRecord
from carts.models.history import Author
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.models.manager import CartManager
from carts.serializers import WireSerializer
from cartsvc.api.authentication import bearer_of
from cartsvc.api.body import fingerprint, json_object
from cartsvc.api.headers import entity_tag, prefers_strict, versions
from cartsvc.api.names import wire_name
from cartsvc.errors import MAX_PROBLEMS, InvalidHeader, Refusal, Refusals

RECORDED = Counter("cartsvc_idempotency_records", "Idempotency-Keys recorded.")

NO_VERSION = 0  # versions begin at 1
IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{KEY_MAX_LENGTH}}}")

WARNINGS = 10

# The headers that carry what the models call by these names.
HEADERS = {"version": "If-Match", "key": "Idempotency-Key"}


@contextmanager
def located() -> Iterator[None]:
    """Name the header or the place in the body instead of the model's field in a refusal."""
    try:
        yield
    except Refusal as refusal:
        for reason in refusal.reasons:
            reason.field = _located(reason.field)
        if isinstance(refusal, VersionMismatch):
            refusal.headers = {"ETag": entity_tag(refusal.details["version"])}
        raise


def _located(field: Any) -> str | None:
    """Return the header, or the JSON Pointer: `items[0].currency` is `/items/0/currency`."""
    if field is None or field in HEADERS:
        return HEADERS.get(field or "")
    return "".join(f"/{wire_name(name)}" for name in re.findall(r"\w+", field))


class CartServiceViewSet(ViewSet):
    """The base of the operations: the bearer's carts, and how a request is read."""

    http_method_names = ["get", "head", "post", "put", "delete"]
    # True when the caller prefers strict handling: unknown members are refused.
    strict = False

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Name the preference that was applied, on errors as well."""
        if self.strict:
            response["Preference-Applied"] = "handling=strict"
        return super().finalize_response(request, response, *args, **kwargs)

    def read(self, serializer: WireSerializer) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body and its values.

        Raises:
            Refusal: see `json_object` and `WireSerializer.run_validation`; `unknown_member`
                for a caller who prefers strict handling.
        """
        self.strict = prefers_strict(self.request.META.get("HTTP_PREFER", ""))
        body = json_object(self.request)
        if not self.strict:
            return body, serializer.run_validation(body)
        problems = list(islice(serializer.unknown_members(body), MAX_PROBLEMS + 1))
        try:
            values = serializer.run_validation(body)
        except Refusal as refused:
            problems += refused.reasons
        if problems:
            raise Refusals(problems)
        return body, values

    def warnings(self, serializer: WireSerializer, body: dict[str, Any]) -> Iterable[Refusal]:
        """Return a warning for each of the first unknown members of an accepted body."""
        if not serializer.has_unknown_members(body):
            return ()
        return islice(serializer.unknown_members(body), WARNINGS)

    def carts(self, profile_key: UUID) -> CartManager:
        """Return the carts that the bearer may see and change, in the bearer's name."""
        bearer = bearer_of(self.request)
        author = Author("bearer", bearer.subject, self.request.META["cartsvc.request_id"])
        keys: dict[str, Any] = {"profile_key": profile_key}
        if bearer.partner_key is not None:
            keys["partner_key"] = bearer.partner_key
        return Cart.objects.by(author, **keys)

    def expected_version(self, carts: CartManager, cart_id: UUID) -> int | None:
        """Return the version in If-Match; None when any will do.

        Of several the cart's own is meant, if it is among them.

        Raises:
            Refusal: `invalid_header`.
        """
        accepted = versions(self.request.META.get("HTTP_IF_MATCH", "*"), "If-Match")
        if accepted is None:
            return None
        if len(accepted) > 1 and (version := carts.version_of(cart_id)) in accepted:
            return version
        return min(*accepted, INT64_MAX) if accepted else NO_VERSION

    def idempotency_key(self) -> str | None:
        """Return the Idempotency-Key; None when the request has none.

        Raises:
            Refusal: `invalid_header`.
        """
        key = self.request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            raise InvalidHeader(
                f"Idempotency-Key must be 1 to {KEY_MAX_LENGTH} visible ASCII characters.",
                field="Idempotency-Key",
            )
        return key

    def create_once(
        self, key: str | None, body: Mapping[str, Any], write: Callable[[UUID], int]
    ) -> tuple[UUID, int | None]:
        """Call `write` with a new id, or find the id that this request created before.

        Returns:
            The id, and the cart's version that `write` made; None if it was created before.
        """
        if key is None:
            new_id = uuid7()
            return new_id, write(new_id)
        # The path and the partner belong to what must be the same.
        partner_key = bearer_of(self.request).partner_key
        created_id, version = IdempotencyRecord.create_once(
            self.kwargs["profile_key"],
            partner_key,
            key,
            fingerprint([self.action, self.kwargs, partner_key, body]),
            write,
        )
        if version is not None:
            RECORDED.inc()
        return created_id, version
