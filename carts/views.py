"""Parse, call the model, wrap: the operations of the service."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from uuid import UUID

import simplejson
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet
from uuid_utils.compat import uuid7

from carts.models import Cart, IdempotencyRecord
from carts.models.history import Author
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.models.manager import NO_SUCH_CART, CartManager
from carts.serializers import CART_ITEM, CREATE_CART, cart_body, summary_body
from cartsvc.api.authentication import bearer_of, parse_guid
from cartsvc.api.body import json_object
from cartsvc.api.envelope import refuse, success
from cartsvc.api.permissions import READ, WRITE

IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{KEY_MAX_LENGTH}}}")
ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')
VERSION_TAG = re.compile(r'"([1-9][0-9]{0,8})"')
NO_VERSION = 0  # versions begin at 1

PAGE_SIZE, MAX_PAGE_SIZE = 20, 100


class CartServiceViewSet(ViewSet):
    """What the operations share: whose carts they see, and the two request headers."""

    http_method_names = ["get", "post", "put", "delete"]
    required_scopes: ClassVar[Mapping[str, tuple[str, ...]]]
    # How the logs and the metrics name them.
    operations: ClassVar[Mapping[str, str]]

    def carts(self, profile_key: UUID) -> CartManager:
        """Return the carts that the bearer may see and change, in the bearer's name."""
        bearer = bearer_of(self.request)
        author = Author("bearer", bearer.subject, self.request.META["cartsvc.request_id"])
        keys: dict[str, Any] = {"profile_key": profile_key}
        if bearer.partner_key is not None:
            keys["partner_key"] = bearer.partner_key
        return Cart.objects.by(author, **keys)

    def expected_version(self) -> int | None:
        """Return the version in If-Match; None when any will do."""
        header = self.request.META.get("HTTP_IF_MATCH", "*").strip()
        if header == "*":
            return None
        if not ENTITY_TAG.fullmatch(header):
            refuse("invalid_header", 'If-Match must be one version, such as "3".', "If-Match")
        version = VERSION_TAG.fullmatch(header)
        return int(version[1]) if version else NO_VERSION

    def idempotency_key(self) -> str | None:
        key = self.request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            refuse(
                "invalid_header",
                f"Idempotency-Key must be 1 to {KEY_MAX_LENGTH} visible ASCII characters.",
                "Idempotency-Key",
            )
        return key

    def create_once(
        self, key: str | None, body: Mapping[str, Any], write: Callable[[UUID], object]
    ) -> tuple[UUID, bool]:
        """Call `write` with a new id, or find the id that this request created before.

        Returns:
            The id, and whether it was created before.
        """
        if key is None:
            new_id = uuid7()
            write(new_id)
            return new_id, False
        # The path and the partner belong to what must be the same.
        request = [self.action, self.kwargs, bearer_of(self.request).partner_key, body]
        canonical = simplejson.dumps(request, sort_keys=True, use_decimal=True, default=str)
        record = IdempotencyRecord(
            profile_key=self.kwargs["profile_key"],
            key=key,
            fingerprint=hashlib.sha256(canonical.encode()).digest(),
        )
        replayed = record.run(write)  # which may take over an earlier id
        return record.created_id, replayed


class CartViewSet(CartServiceViewSet):
    required_scopes: ClassVar = {"create": WRITE, "list": READ, "retrieve": READ}
    operations: ClassVar = {"create": "Create Cart", "list": "List Carts", "retrieve": "Get Cart"}

    def create(self, request: Request, profile_key: UUID) -> HttpResponse:
        """Create Cart."""
        key = self.idempotency_key()
        body = json_object(request)
        values = CREATE_CART.run_validation(body)
        if bearer_of(request).partner_key not in (None, values["partner_key"]):
            refuse("partner_mismatch", "The token is another partner's.", "/partnerKey")
        cart_id, replayed = self.create_once(
            key,
            body,
            lambda new_id: self.carts(profile_key).create_with_items(
                id=new_id, profile_key=profile_key, **values, validate=False
            ),
        )
        return _created("The cart was created.", {"cartId": str(cart_id)}, replayed)

    def list(self, request: Request, profile_key: UUID) -> HttpResponse:
        """List Carts, newest first."""
        limit, cursor = _page(request)
        page = self.carts(profile_key).page(limit + 1, cursor)
        more = len(page) > limit
        page = page[:limit]
        return success(
            "The carts were found.",
            {
                "carts": [summary_body(cart) for cart in page],
                "nextCursor": str(page[-1].id) if more else None,
            },
        )

    def retrieve(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Get Cart."""
        cart = self.carts(profile_key).find(cart_id)
        if cart is None:
            refuse("cart_not_found", NO_SUCH_CART)
        response = success("The cart was found.", cart_body(cart))
        response["ETag"] = f'"{cart.version}"'
        return response


class CartItemViewSet(CartServiceViewSet):
    required_scopes: ClassVar = {"create": WRITE, "update": WRITE, "destroy": WRITE}
    operations: ClassVar = {
        "create": "Add Item",
        "update": "Update Item",
        "destroy": "Remove Item",
    }

    def create(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Add Item."""
        key, version = self.idempotency_key(), self.expected_version()
        body = json_object(request)
        values = CART_ITEM.run_validation(body)
        item_id, replayed = self.create_once(
            key,
            body,
            lambda new_id: self.carts(profile_key).add_item(
                cart_id, {"id": new_id, **values}, version=version, validate=False
            ),
        )
        return _created("The item was added.", {"itemId": str(item_id)}, replayed)

    def update(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Update Item."""
        version = self.expected_version()
        values = CART_ITEM.run_validation(json_object(request))
        self.carts(profile_key).replace_item(
            cart_id, item_id, values, version=version, validate=False
        )
        return success("The item was updated.")

    def destroy(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Remove Item."""
        self.carts(profile_key).remove_item(cart_id, item_id, version=self.expected_version())
        return success("The item was removed.")


def _created(message: str, data: Mapping[str, str], replayed: bool) -> HttpResponse:
    response = success(message, data)
    if replayed:
        response["Idempotent-Replayed"] = "true"
    return response


def _page(request: Request) -> tuple[int, UUID | None]:
    limit = request.GET.get("limit", str(PAGE_SIZE))
    if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= MAX_PAGE_SIZE:
        refuse("invalid_parameter", f"limit must be 1 to {MAX_PAGE_SIZE}.", "limit")
    cursor = request.GET.get("cursor")
    if cursor is None:
        return int(limit), None
    position = parse_guid(cursor)
    if position is None:
        refuse("invalid_parameter", "cursor must be a nextCursor of this list.", "cursor")
    return int(limit), position
