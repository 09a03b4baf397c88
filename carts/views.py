"""The operations: each parses the request, calls the model and wraps the result."""

import re
from uuid import UUID

from django.http import HttpResponse, HttpResponseNotModified
from prometheus_client import Counter
from rest_framework.request import Request

from carts.base_view import CartServiceViewSet
from carts.errors import (
    CannotChange,
    CartNotFound,
    IdempotencyKeyReused,
    ItemNotFound,
    PartnerMismatch,
    RequestInProgress,
    VersionMismatch,
)
from carts.serializers import (
    CartItemSerializer,
    ChangeCartItemSerializer,
    ChangeCartSerializer,
    CreateCartSerializer,
    UpdateCartItemSerializer,
)
from cartsvc.api.guids import parse_guid
from cartsvc.api.headers import entity_tag, versions
from cartsvc.api.operation import Operation
from cartsvc.errors import InvalidParameter
from cartsvc.identity.bearer_tokens import bearer_of

READ, WRITE = "Cart.Read", "Cart.Write"

CREATED = Counter("cartsvc_carts_created", "Carts created.")

PAGE_SIZE, MAX_PAGE_SIZE = 20, 100

# RFC 7396: what is not sent stays as it is.
OF_CHANGES = ("application/json", "application/merge-patch+json")

# What may be wrong with an Idempotency-Key.
KEY_REFUSALS = (RequestInProgress, IdempotencyKeyReused)


class CartViewSet(CartServiceViewSet):
    """The carts of a customer profile."""

    tag = "Carts"

    @Operation(
        name="Create Cart",
        description="Creates a cart for a customer profile, with items or without.",
        message="The cart was created.",
        scope=WRITE,
        body=CreateCartSerializer(),
        data="CartCreated",
        takes=("Idempotency-Key", "Prefer"),
        gives=("ETag", "Idempotent-Replayed", "Preference-Applied"),
        problems=(*KEY_REFUSALS, PartnerMismatch),
        specified=True,
        counter=CREATED,
    )
    def create(self, request: Request, profile_key: UUID) -> HttpResponse:
        """Create Cart."""
        key = self.idempotency_key()
        body, values = self.read()
        if bearer_of(request).partner_key not in (None, values["partner_key"]):
            raise PartnerMismatch(field="/partnerKey")
        return self.create_once(
            "cartId",
            key,
            body,
            lambda new_id: (
                self.carts(profile_key)
                .create_with_items(id=new_id, profile_key=profile_key, **values, validate=False)
                .version
            ),
        )

    @Operation(
        name="List Carts",
        description="The profile's carts, newest first, in pages.",
        message="The carts were found.",
        scope=WRITE,
        other_scopes=(READ,),
        data="CartPage",
        query=("limit", "cursor"),
        problems=(InvalidParameter,),
    )
    def list(self, request: Request, profile_key: UUID) -> HttpResponse:
        """List Carts, newest first."""
        limit, cursor = _page(request)
        page = self.carts(profile_key).page(limit + 1, cursor)
        more = len(page) > limit
        page = page[:limit]
        cursor_text = f'"{page[-1][0]}"' if more else "null"
        carts = ",".join(text for _, text in page)
        return self.success(f'{{"carts":[{carts}],"nextCursor":{cursor_text}}}')

    @Operation(
        name="Get Cart",
        description="The cart with its items as it is between two changes.",
        message="The cart was found.",
        scope=WRITE,
        other_scopes=(READ,),
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
                return HttpResponseNotModified(headers={"ETag": entity_tag(version)})
        found = carts.find(cart_id)
        if found is None:
            raise CartNotFound
        version, text = found
        return self.success(text, version=version)

    @Operation(
        name="Change Cart",
        description="Changes the members that are sent; null takes an optional text away.",
        message="The cart was changed.",
        scope=WRITE,
        body=ChangeCartSerializer(),
        media_types=OF_CHANGES,
        takes=("If-Match", "Prefer"),
        gives=("ETag", "Preference-Applied"),
        problems=(CannotChange, CartNotFound, VersionMismatch),
    )
    def partial_update(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Change Cart."""
        return self.change(self.carts(profile_key).change_cart, cart_id)

    @Operation(
        name="Delete Cart",
        description="Deletes a cart with its items and its history.",
        message="The cart was deleted.",
        scope=WRITE,
        takes=("If-Match",),
        problems=(CartNotFound, VersionMismatch),
    )
    def destroy(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Delete Cart."""
        carts, expected = self.carts(profile_key), self.expected_versions()
        with self.changing():
            carts.delete_cart(cart_id, version=expected)
        return self.success()


class CartItemViewSet(CartServiceViewSet):
    """The items of a cart."""

    tag = "Items"

    @Operation(
        name="Add Item",
        description="Adds an item after the cart's last one.",
        message="The item was added.",
        scope=WRITE,
        body=CartItemSerializer(),
        data="ItemAdded",
        takes=("Idempotency-Key", "If-Match", "Prefer"),
        gives=("ETag", "Idempotent-Replayed", "Preference-Applied"),
        problems=(*KEY_REFUSALS, CartNotFound, VersionMismatch),
    )
    def create(self, request: Request, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        """Add Item."""
        carts = self.carts(profile_key)
        key, expected = self.idempotency_key(), self.expected_versions()
        body, values = self.read()
        return self.create_once(
            "itemId",
            key,
            body,
            lambda new_id: carts.add_item(
                cart_id, {"id": new_id, **values}, version=expected, validate=False
            ),
        )

    @Operation(
        name="Update Item",
        description="Replaces an item entirely, options included: what is not sent is not kept.",
        message="The item was updated.",
        scope=WRITE,
        body=UpdateCartItemSerializer(),
        takes=("If-Match", "Prefer"),
        gives=("ETag", "Preference-Applied"),
        problems=(CartNotFound, ItemNotFound, VersionMismatch),
        specified=True,
    )
    def update(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Update Item."""
        return self.change(self.carts(profile_key).replace_item, cart_id, item_id)

    @Operation(
        name="Change Item",
        description="Changes the quantity or the instructions; the rest stays as it is.",
        message="The item was changed.",
        scope=WRITE,
        body=ChangeCartItemSerializer(),
        media_types=OF_CHANGES,
        takes=("If-Match", "Prefer"),
        gives=("ETag", "Preference-Applied"),
        problems=(CannotChange, CartNotFound, ItemNotFound, VersionMismatch),
    )
    def partial_update(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Change Item."""
        return self.change(self.carts(profile_key).change_item, cart_id, item_id)

    @Operation(
        name="Remove Item",
        description="Removes an item and its options.",
        message="The item was removed.",
        scope=WRITE,
        takes=("If-Match",),
        gives=("ETag",),
        problems=(CartNotFound, ItemNotFound, VersionMismatch),
    )
    def destroy(
        self, request: Request, profile_key: UUID, cart_id: UUID, item_id: UUID
    ) -> HttpResponse:
        """Remove Item."""
        carts, expected = self.carts(profile_key), self.expected_versions()
        with self.changing():
            version = carts.remove_item(cart_id, item_id, version=expected)
        return self.success(version=version)


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
