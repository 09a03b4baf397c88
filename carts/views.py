"""The operations: each parses the request, calls the model and wraps the result."""

from contextlib import nullcontext
from functools import partial
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from uuid_utils.compat import uuid7

from carts import cart_errors, serializers
from carts.models.cart_status import STATUSES
from carts.models.change_feed import LOOKED_THROUGH, OLDEST, ListedChange, changes_after, is_ahead
from carts.models.idempotency import Answer
from carts.models.manager import CartManager
from carts.models.reads import PageCursor
from carts.operation_view import READING_SCOPES, OperationView
from carts.value_types import INT32
from cartsvc.api.envelope import entity_tag, object_text
from cartsvc.api.headers import versions
from cartsvc.api.operation import Operation
from cartsvc.api.query import QueryParameter, integer_between, one_of, query_values
from cartsvc.concurrency_limit import COMPUTING, WAITING
from cartsvc.guids import parse_guid
from cartsvc.json_values import compact_json
from cartsvc.member_names import camel_case
from cartsvc.request_errors import InvalidParameter, UnknownParameter
from cartsvc.serving.logs import warn_once_a_minute

PAGE_SIZE, MAX_PAGE_SIZE = 20, 100
MODIFIED, OF_THIS_LIST = "modified", "be a nextCursor of this list"
IN_ORDER_OF_CREATION = {
    "limit": QueryParameter(
        integer_between(1, MAX_PAGE_SIZE), f"be 1 to {MAX_PAGE_SIZE}", PAGE_SIZE
    ),
    "cursor": QueryParameter(parse_guid, OF_THIS_LIST),
    "status": one_of(*STATUSES),
    "restaurantKey": QueryParameter(
        integer_between(INT32.minimum, INT32.maximum), "be an integer of 32 bits"
    ),
    "sort": one_of("created", MODIFIED),
}
# A cursor belongs to its list and its sort, and begins with the word of this one.
IN_ORDER_OF_CHANGE = IN_ORDER_OF_CREATION | {
    "cursor": QueryParameter(partial(PageCursor.parsed, mark=MODIFIED), OF_THIS_LIST)
}


def changes_cursor(text: str) -> PageCursor | None:
    """Return the cursor, or None. One that is ahead was made by a clock that was set back since."""
    cursor = OLDEST if text == "0" else PageCursor.parsed(text)
    if cursor and not is_ahead(cursor):
        return cursor
    warn_once_a_minute("A cursor of List Changes is none, or ahead of the clock.")
    return None


CHANGES_PARAMETERS = {
    "after": QueryParameter(
        changes_cursor,
        "be 0 or a next of List Changes, and not ahead of the clock: begin again with 0",
    ),
    "limit": QueryParameter(
        integer_between(1, LOOKED_THROUGH), f"be 1 to {LOOKED_THROUGH}", LOOKED_THROUGH
    ),
}
CHANGE_MEMBERS = [camel_case(name) for name in ListedChange._fields]

# RFC 7396: what is not sent stays as it is.
MERGE_PATCH = ("application/json", "application/merge-patch+json")

# What may be wrong with an Idempotency-Key, a cart that is changed, and an item of it.
KEY_ERRORS = (cart_errors.RequestInProgress, cart_errors.IdempotencyKeyReused)
VERSION_ERRORS = (*KEY_ERRORS, cart_errors.CartNotFound, cart_errors.VersionMismatch)
CART_ERRORS = (*VERSION_ERRORS, cart_errors.CartClosed)
ITEM_ERRORS = (*CART_ERRORS, cart_errors.ItemNotFound)

writing = partial(Operation, scopes=("Cart.Write",))
reading = partial(Operation, scopes=READING_SCOPES)
changing = partial(
    writing,
    request_headers=("Idempotency-Key", "If-Match", "Prefer"),
    response_headers=("ETag", "Idempotent-Replayed", "Preference-Applied"),
)
ending = partial(changing, scopes=("Cart.Close",))


class ChangesViewSet(OperationView):
    """What has changed in the carts of all customers, for back ends."""

    tag = "Changes"

    @Operation(
        name="List Changes",
        description=(
            "Every creation, change, move and deletion of carts, each at least once, and those of "
            "a cart in the order of its versions."
        ),
        message="The changes were found.",
        scopes=("Cart.Read", settings.ANY_PROFILE_SCOPE),
        needs_all_scopes=True,
        data="ChangesPage",
        query_parameters=CHANGES_PARAMETERS,
        errors=(InvalidParameter, UnknownParameter),
    )
    def list(self, request: HttpRequest) -> HttpResponse:
        seen, limit = query_values(request.GET, CHANGES_PARAMETERS).values()
        with WAITING.seat_for((self.caller, "reads")):
            changes, following = changes_after(seen, limit, self.bearer.keys)
        listed = [dict(zip(CHANGE_MEMBERS, change, strict=True)) for change in changes]
        return self.answer(Answer(compact_json({"changes": listed, "next": str(following)})))


class CartViewSet(OperationView):
    """The carts of a customer profile."""

    tag = "Carts"

    @writing(
        name="Create Cart",
        description="Creates a cart for a customer profile, with items or without.",
        message="The cart was created.",
        body=serializers.CreateCartSerializer(),
        data="CartCreated",
        request_headers=("Idempotency-Key", "Prefer"),
        response_headers=("ETag", "Idempotent-Replayed", "Preference-Applied"),
        errors=(*KEY_ERRORS, cart_errors.PartnerMismatch),
        specified=True,
    )
    def create(self, request: HttpRequest, profile_key: UUID) -> HttpResponse:
        new = self.validated()
        if self.bearer.partner_key not in (None, new.partner_key):
            raise cart_errors.PartnerMismatch(field=("partner_key",))
        cart_id = uuid7()
        return self.change(CartManager.create_cart, cart_id, profile_key, new, cartId=str(cart_id))

    @reading(
        name="List Carts",
        description="The profile's carts, newest or last changed first, in pages.",
        message="The carts were found.",
        data="CartPage",
        query_parameters=IN_ORDER_OF_CREATION,
        errors=(InvalidParameter, UnknownParameter),
    )
    def list(self, request: HttpRequest, profile_key: UUID) -> HttpResponse:
        by_change = request.GET.get("sort") == MODIFIED
        known = IN_ORDER_OF_CHANGE if by_change else IN_ORDER_OF_CREATION
        values = query_values(request.GET, known)
        limit, cursor, status, restaurant_key, _ = values.values()
        keys = {} if restaurant_key is None else {"restaurant_key": restaurant_key}
        # It looks at all of the customer's carts, for one request of a caller after the other.
        turn = COMPUTING.seat_for((self.caller, profile_key)) if by_change else nullcontext()
        with turn, WAITING.seat_for((self.caller, "reads")):
            page = self.carts(**keys).summaries(limit + 1, cursor, status, by_change=by_change)
        mark = MODIFIED if by_change else ""
        next_cursor = f'"{mark}{page[limit - 1][0]}"' if len(page) > limit else "null"
        shown = ",".join([text for _, text in page[:limit]])
        page_text = object_text({"carts": f"[{shown}]", "nextCursor": next_cursor})
        return self.answer(Answer(page_text))

    @reading(
        name="Get Cart",
        description="The cart with its items as it is between two changes.",
        message="The cart was found.",
        data="Cart",
        request_headers=("If-None-Match",),
        response_headers=("ETag",),
        errors=(cart_errors.CartNotFound,),
    )
    def retrieve(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        with WAITING.seat_for((self.caller, "reads")):
            carts = self.carts()
            if "HTTP_IF_NONE_MATCH" in request.META:
                seen = versions(request.META["HTTP_IF_NONE_MATCH"], "If-None-Match")
                version = carts.current_version(cart_id)
                if version is not None and (seen is None or version in seen):
                    return HttpResponseNotModified(headers={"ETag": entity_tag(version)})
            version, text = carts.version_and_json(cart_id)
        return self.answer(Answer(text, version))

    @changing(
        name="Change Cart",
        description="Changes the members that are sent; null takes an optional text away.",
        message="The cart was changed.",
        body=serializers.ChangeCartSerializer(),
        media_types=MERGE_PATCH,
        errors=(cart_errors.CannotChange, *CART_ERRORS),
    )
    def partial_update(self, request: HttpRequest, profile_key: UUID, **keys: UUID) -> HttpResponse:
        return self.change(CartManager.change_cart, self.validated())

    @ending(
        name="Close Cart",
        description=(
            "Closes a cart: nothing in it changes while somebody pays (checkout, which ends by "
            "itself), or once it is ordered or abandoned. From a checkout the same reference goes "
            "on to ordered."
        ),
        message="The cart was closed.",
        body=serializers.CloseCartSerializer(),
        errors=(cart_errors.CannotChange, *CART_ERRORS),
    )
    def close(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        return self.change(CartManager.close_cart, self.validated())

    @ending(
        name="Reopen Cart",
        description=(
            "Opens a cart: without a body, however it was closed; with the reference of a payment "
            "that has failed, only a checkout of that reference."
        ),
        message="The cart is open.",
        body=serializers.ReopenCartSerializer(),
        body_is_optional=True,
        errors=CART_ERRORS,
    )
    def reopen(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        return self.change(CartManager.reopen_cart, self.validated())

    @changing(
        name="Move Cart",
        description="Gives an open cart to another customer, as it is: when a guest signs in.",
        message="The cart was moved.",
        scopes=("Cart.Write", settings.ANY_PROFILE_SCOPE),
        needs_all_scopes=True,
        body=serializers.MoveCartSerializer(),
        errors=CART_ERRORS,
    )
    def move(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        return self.change(CartManager.move_cart, self.validated().profile_key)

    @writing(
        name="Delete Cart",
        description="Deletes a cart with its items and its history.",
        message="The cart was deleted.",
        request_headers=("Idempotency-Key", "If-Match"),
        response_headers=("Idempotent-Replayed",),
        errors=CART_ERRORS,
    )
    def destroy(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        return self.change(CartManager.delete_cart)


class CartItemViewSet(OperationView):
    """The items of a cart."""

    tag = "Items"

    @changing(
        name="Add Item",
        description="Adds an item after the cart's last one.",
        message="The item was added.",
        body=serializers.CartItemSerializer(),
        data="ItemAdded",
        errors=CART_ERRORS,
    )
    def create(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        item, item_id = self.validated(), uuid7()
        return self.change(CartManager.add_item, item_id, item, itemId=str(item_id))

    @changing(
        name="Add Items",
        description="Adds items after the cart's last one: all or none.",
        message="The items were added.",
        body=serializers.AddItemsSerializer(),
        data="ItemsPlaced",
        errors=CART_ERRORS,
    )
    def create_several(self, request: HttpRequest, profile_key: UUID, **keys: UUID) -> HttpResponse:
        items = {uuid7(): item for item in self.validated().items}
        return self.change(CartManager.add_items, items, itemIds=[*map(str, items)])

    @changing(
        name="Replace Items",
        description=(
            "Makes the cart's items those of the body, in that order: all or none. One with the "
            "itemId of an item of the cart replaces it. An item that is not named goes."
        ),
        message="The items were replaced.",
        body=serializers.ReplaceItemsSerializer(),
        data="ItemsPlaced",
        errors=(cart_errors.ListedItemNotFound, *CART_ERRORS),
    )
    def update_all(self, request: HttpRequest, profile_key: UUID, cart_id: UUID) -> HttpResponse:
        sent = self.validated().items
        items = {item_id or uuid7(): item for item_id, item in sent}
        kept = {item_id for item_id, _ in sent if item_id}
        return self.change(CartManager.replace_items, items, kept, itemIds=[*map(str, items)])

    @changing(
        name="Update Item",
        description="Replaces an item entirely, options included: what is not sent is not kept.",
        message="The item was updated.",
        body=serializers.UpdateCartItemSerializer(),
        errors=ITEM_ERRORS,
        specified=True,
    )
    def update(self, request: HttpRequest, profile_key: UUID, **keys: UUID) -> HttpResponse:
        return self.change(CartManager.replace_item, self.validated())

    @changing(
        name="Change Item",
        description="Changes the quantity or the instructions; the rest stays as it is.",
        message="The item was changed.",
        body=serializers.ChangeCartItemSerializer(),
        media_types=MERGE_PATCH,
        errors=(cart_errors.CannotChange, *ITEM_ERRORS),
    )
    def partial_update(self, request: HttpRequest, profile_key: UUID, **keys: UUID) -> HttpResponse:
        return self.change(CartManager.change_item, self.validated())

    @changing(
        name="Remove Item",
        description="Removes an item and its options.",
        message="The item was removed.",
        errors=ITEM_ERRORS,
    )
    def destroy(self, request: HttpRequest, profile_key: UUID, **keys: UUID) -> HttpResponse:
        return self.change(CartManager.remove_item)
