"""Parse, call the model, wrap: the operations of the service."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import simplejson
from django.http import HttpResponse
from prometheus_client import Counter
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet
from uuid_utils.compat import uuid7

from carts.models import Cart, IdempotencyRecord
from carts.models.history import Author
from carts.models.idempotency import KEY_MAX_LENGTH
from carts.models.manager import CartManager
from carts.problems import (
    CART_NOT_FOUND,
    IDEMPOTENCY_KEY_REUSED,
    ITEM_NOT_FOUND,
    PARTNER_MISMATCH,
    REQUEST_IN_PROGRESS,
    VERSION_MISMATCH,
)
from carts.serializers import (
    CART_ITEM,
    CREATE_CART,
    CartItemSerializer,
    CreateCartSerializer,
    cart_body,
    summary_body,
)
from carts.validators import INT64_MAX
from cartsvc.api.authentication import bearer_of
from cartsvc.api.body import json_object
from cartsvc.api.envelope import success
from cartsvc.api.guids import parse_guid
from cartsvc.api.names import wire_name
from cartsvc.api.operation import Operation
from cartsvc.api.problems import (
    INVALID_HEADER,
    INVALID_PARAMETER,
    PAYLOAD_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    Refused,
)

READ = ("Cart.Read", "Cart.Write")
WRITE = ("Cart.Write",)

CREATED = Counter("cartsvc_carts_created", "Carts created.")
RECORDED = Counter("cartsvc_idempotency_records", "Idempotency-Keys recorded.")

ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')
VERSION_TAG = re.compile(r'"([1-9][0-9]{0,18})"')
NO_VERSION = 0  # versions begin at 1
IDEMPOTENCY_KEY = re.compile(rf"[\x21-\x7e]{{1,{KEY_MAX_LENGTH}}}")

PAGE_SIZE, MAX_PAGE_SIZE = 20, 100

# Problems of the operations that read a body, and of those that can be repeated safely.
OF_BODIES = (PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE)
OF_KEYS = (REQUEST_IN_PROGRESS, IDEMPOTENCY_KEY_REUSED)

# Where a request has what the models call by these names.
HEADERS = {"version": "If-Match", "key": "Idempotency-Key"}


@contextmanager
def located() -> Iterator[None]:
    """Say of what the models refuse where the request has it: in a header, or in its body."""
    try:
        yield
    except Refused as refused:
        raise Refused(
            *(replace(problem, field=_located(problem.field)) for problem in refused.problems)
        ) from refused


def _located(field: str | None) -> str | None:
    """Return the header, or the JSON Pointer: `items[0].currency` is `/items/0/currency`."""
    if field is None or field in HEADERS:
        return HEADERS.get(field or "")
    return "".join(f"/{wire_name(name)}" for name in re.findall(r"\w+", field))


class CartServiceViewSet(ViewSet):
    """What the operations share: whose carts they see, and the two request headers."""

    http_method_names = ["get", "post", "put", "delete"]

    def carts(self, profile_key: UUID) -> CartManager:
        """Return the carts that the bearer may see and change, in the bearer's name."""
        bearer = bearer_of(self.request)
        author = Author("bearer", bearer.subject, self.request.META["cartsvc.request_id"])
        keys: dict[str, Any] = {"profile_key": profile_key}
        if bearer.partner_key is not None:
            keys["partner_key"] = bearer.partner_key
        return Cart.objects.by(author, **keys)

    def expected_version(self) -> int | None:
        """Return the version in If-Match; None when any will do.

        Raises:
            Refused: `invalid_header`.
        """
        header = self.request.META.get("HTTP_IF_MATCH", "*").strip()
        if header == "*":
            return None
        if not ENTITY_TAG.fullmatch(header):
            INVALID_HEADER.refuse('If-Match must be one version, such as "3".', field="If-Match")
        version = VERSION_TAG.fullmatch(header)
        return min(int(version[1]), INT64_MAX) if version else NO_VERSION

    def idempotency_key(self) -> str | None:
        """Return the Idempotency-Key; None when the request has none.

        Raises:
            Refused: `invalid_header`.
        """
        key = self.request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
            INVALID_HEADER.refuse(
                f"Idempotency-Key must be 1 to {KEY_MAX_LENGTH} visible ASCII characters.",
                field="Idempotency-Key",
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
        fingerprint = hashlib.sha256(canonical.encode()).digest()
        created_id, replayed = IdempotencyRecord.create_once(
            self.kwargs["profile_key"], bearer_of(self.request).partner_key, key, fingerprint, write
        )
        if not replayed:
            RECORDED.inc()
        return created_id, replayed


class CartViewSet(CartServiceViewSet):
    """The carts of a customer profile."""

    @Operation(
        name="Create Cart",
        description="Creates a cart for a customer profile, with items or without.",
        scopes=WRITE,
        body=CreateCartSerializer,
        data="CartCreated",
        takes=("Idempotency-Key",),
        gives=("Idempotent-Replayed",),
        problems=(*OF_BODIES, *OF_KEYS, PARTNER_MISMATCH),
        specified=True,
        counter=CREATED,
    )
    def create(self, request: Request, profile_key: UUID) -> HttpResponse:
        """Create Cart."""
        key = self.idempotency_key()
        body = json_object(request)
        values = CREATE_CART.run_validation(body)
        if bearer_of(request).partner_key not in (None, values["partner_key"]):
            PARTNER_MISMATCH.refuse(field="/partnerKey")
        with located():
            cart_id, replayed = self.create_once(
                key,
                body,
                lambda new_id: self.carts(profile_key).create_with_items(
                    id=new_id, profile_key=profile_key, **values, validate=False
                ),
            )
        return _created("The cart was created.", {"cartId": str(cart_id)}, replayed)

    @Operation(
        name="List Carts",
        description="The profile's carts, newest first, in pages.",
        scopes=READ,
        data="CartPage",
    )
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

    @Operation(
        name="Get Cart",
        description="The cart with its items as it is between two changes.",
        scopes=READ,
        data="Cart",
        gives=("ETag",),
        problems=(CART_NOT_FOUND,),
    )
    def retrieve(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Get Cart."""
        cart = self.carts(profile_key).find(cart_id)
        if cart is None:
            CART_NOT_FOUND.refuse()
        response = success("The cart was found.", cart_body(cart))
        response["ETag"] = f'"{cart.version}"'
        return response


class CartItemViewSet(CartServiceViewSet):
    """The items of a cart."""

    @Operation(
        name="Add Item",
        description="Adds an item behind the cart's last one.",
        scopes=WRITE,
        body=CartItemSerializer,
        data="ItemAdded",
        takes=("Idempotency-Key", "If-Match"),
        gives=("Idempotent-Replayed",),
        problems=(*OF_BODIES, *OF_KEYS, CART_NOT_FOUND, VERSION_MISMATCH),
    )
    def create(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Add Item."""
        key, version = self.idempotency_key(), self.expected_version()
        body = json_object(request)
        values = CART_ITEM.run_validation(body)
        with located():
            item_id, replayed = self.create_once(
                key,
                body,
                lambda new_id: self.carts(profile_key).add_item(
                    cart_id, {"id": new_id, **values}, version=version, validate=False
                ),
            )
        return _created("The item was added.", {"itemId": str(item_id)}, replayed)

    @Operation(
        name="Update Item",
        description="Replaces an item entirely, options included: what is not sent is not kept.",
        scopes=WRITE,
        body=CartItemSerializer,
        takes=("If-Match",),
        problems=(*OF_BODIES, CART_NOT_FOUND, ITEM_NOT_FOUND, VERSION_MISMATCH),
        specified=True,
    )
    def update(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Update Item."""
        version = self.expected_version()
        values = CART_ITEM.run_validation(json_object(request))
        with located():
            self.carts(profile_key).replace_item(
                cart_id, item_id, values, version=version, validate=False
            )
        return success("The item was updated.")

    @Operation(
        name="Remove Item",
        description="Removes an item and its options.",
        scopes=WRITE,
        takes=("If-Match",),
        problems=(CART_NOT_FOUND, ITEM_NOT_FOUND, VERSION_MISMATCH),
    )
    def destroy(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Remove Item."""
        version = self.expected_version()
        with located():
            self.carts(profile_key).remove_item(cart_id, item_id, version=version)
        return success("The item was removed.")


def _created(message: str, data: Mapping[str, str], replayed: bool) -> HttpResponse:
    response = success(message, data)
    if replayed:
        response["Idempotent-Replayed"] = "true"
    return response


def _page(request: Request) -> tuple[int, UUID | None]:
    limit = request.GET.get("limit", str(PAGE_SIZE))
    if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= MAX_PAGE_SIZE:
        INVALID_PARAMETER.refuse(f"limit must be 1 to {MAX_PAGE_SIZE}.", field="limit")
    cursor = request.GET.get("cursor")
    if cursor is None:
        return int(limit), None
    position = parse_guid(cursor)
    if position is None:
        INVALID_PARAMETER.refuse("cursor must be a nextCursor of this list.", field="cursor")
    return int(limit), position
