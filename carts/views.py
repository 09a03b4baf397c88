"""The six operations: each parses the request, calls the model and wraps the result."""

import re
from uuid import UUID

from django.http import HttpResponse, HttpResponseNotModified
from prometheus_client import Counter
from rest_framework.request import Request

from carts.base_view import CartServiceViewSet
from carts.errors import (
    CartNotFound,
    IdempotencyKeyReused,
    ItemNotFound,
    PartnerMismatch,
    RequestInProgress,
    VersionMismatch,
)
from carts.responses import cart_body, summary_body
from carts.serializers import (
    CART_ITEM,
    CREATE_CART,
    CartItemSerializer,
    CreateCartSerializer,
)
from cartsvc.api.envelope import success
from cartsvc.api.guids import parse_guid
from cartsvc.api.headers import entity_tag, versions
from cartsvc.api.operation import Operation
from cartsvc.errors import InvalidParameter
from cartsvc.identity.bearer_tokens import bearer_of

READ = ("Cart.Read", "Cart.Write")
WRITE = ("Cart.Write",)

CREATED = Counter("cartsvc_carts_created", "Carts created.")

PAGE_SIZE, MAX_PAGE_SIZE = 20, 100

# Problems of the operations that can be repeated safely.
OF_KEYS = (RequestInProgress, IdempotencyKeyReused)


class CartViewSet(CartServiceViewSet):
    """The carts of a customer profile."""

    @Operation(
        name="Create Cart",
        description="Creates a cart for a customer profile, with items or without.",
        scopes=WRITE,
        body=CreateCartSerializer,
        data="CartCreated",
        takes=("Idempotency-Key", "Prefer"),
        gives=("ETag", "Idempotent-Replayed", "Preference-Applied"),
        problems=(*OF_KEYS, PartnerMismatch),
        specified=True,
        counter=CREATED,
    )
    def create(self, request: Request, profile_key: UUID) -> HttpResponse:
        """Create Cart."""
        key = self.idempotency_key()
        body, values = self.read(CREATE_CART)
        if bearer_of(request).partner_key not in (None, values["partner_key"]):
            raise PartnerMismatch(field="/partnerKey")
        cart_id, version = self.create_once(
            key,
            body,
            lambda new_id: (
                self.carts(profile_key)
                .create_with_items(id=new_id, profile_key=profile_key, **values, validate=False)
                .version
            ),
        )
        data = {"cartId": str(cart_id)}
        warnings = self.warnings(CREATE_CART, body)
        return _versioned(success("The cart was created.", data, warnings), version)

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
        takes=("If-None-Match",),
        gives=("ETag",),
        problems=(CartNotFound,),
    )
    def retrieve(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Get Cart."""
        carts = self.carts(profile_key)
        if "HTTP_IF_NONE_MATCH" in request.META:
            seen = versions(request.META["HTTP_IF_NONE_MATCH"], "If-None-Match")
            version = carts.version_of(cart_id)
            if version is not None and (seen is None or version in seen):
                return _versioned(HttpResponseNotModified(), version)
        found = carts.find(cart_id)
        if found is None:
            raise CartNotFound
        cart, items = found
        return _versioned(success("The cart was found.", cart_body(cart, items)), cart.version)


class CartItemViewSet(CartServiceViewSet):
    """The items of a cart."""

    @Operation(
        name="Add Item",
        description="Adds an item after the cart's last one.",
        scopes=WRITE,
        body=CartItemSerializer,
        data="ItemAdded",
        takes=("Idempotency-Key", "If-Match", "Prefer"),
        gives=("ETag", "Idempotent-Replayed", "Preference-Applied"),
        problems=(*OF_KEYS, CartNotFound, VersionMismatch),
    )
    def create(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Add Item."""
        carts = self.carts(profile_key)
        key, expected = self.idempotency_key(), self.expected_versions()
        body, values = self.read(CART_ITEM)
        item_id, version = self.create_once(
            key,
            body,
            lambda new_id: carts.add_item(
                cart_id, {"id": new_id, **values}, version=expected, validate=False
            ),
        )
        data, warnings = {"itemId": str(item_id)}, self.warnings(CART_ITEM, body)
        return _versioned(success("The item was added.", data, warnings), version)

    @Operation(
        name="Update Item",
        description="Replaces an item entirely, options included: what is not sent is not kept.",
        scopes=WRITE,
        body=CartItemSerializer,
        takes=("If-Match", "Prefer"),
        gives=("ETag", "Preference-Applied"),
        problems=(CartNotFound, ItemNotFound, VersionMismatch),
        specified=True,
    )
    def update(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Update Item."""
        carts = self.carts(profile_key)
        expected = self.expected_versions()
        body, values = self.read(CART_ITEM)
        version = carts.replace_item(cart_id, item_id, values, version=expected, validate=False)
        warnings = self.warnings(CART_ITEM, body)
        return _versioned(success("The item was updated.", warnings=warnings), version)

    @Operation(
        name="Remove Item",
        description="Removes an item and its options.",
        scopes=WRITE,
        takes=("If-Match",),
        gives=("ETag",),
        problems=(CartNotFound, ItemNotFound, VersionMismatch),
    )
    def destroy(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Remove Item."""
        carts = self.carts(profile_key)
        expected = self.expected_versions()
        version = carts.remove_item(cart_id, item_id, version=expected)
        return _versioned(success("The item was removed."), version)


def _versioned(response: HttpResponse, version: int | None) -> HttpResponse:
    """Add the cart's version as the ETag, or mark the answer as a replay if there is none."""
    if version is None:
        response["Idempotent-Replayed"] = "true"
    else:
        response["ETag"] = entity_tag(version)
    return response


def _page(request: Request) -> tuple[int, UUID | None]:
    for name in ("limit", "cursor"):
        if len(request.GET.getlist(name)) > 1:
            raise InvalidParameter(f"{name} must be sent once.", field=name)
    limit = request.GET.get("limit", str(PAGE_SIZE))
    if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= MAX_PAGE_SIZE:
        raise InvalidParameter(f"limit must be 1 to {MAX_PAGE_SIZE}.", field="limit")
    cursor = request.GET.get("cursor")
    if cursor is None:
        return int(limit), None
    position = parse_guid(cursor)
    if position is None:
        raise InvalidParameter("cursor must be a nextCursor of this list.", field="cursor")
    return int(limit), position
