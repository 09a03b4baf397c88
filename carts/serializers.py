"""The request bodies of the operations. The API document shows their docstrings."""

from typing import ClassVar
from uuid import UUID

from carts.changeable_fields import CHANGEABLE_CART_FIELDS, CHANGEABLE_ITEM_FIELDS
from carts.record_serializers import ChangeSerializer, RecordSerializer, TypedField
from carts.records import (
    AddedItems,
    CartMove,
    Closing,
    Item,
    ItemList,
    NewCart,
    Option,
    Reopening,
    check_named_once,
)
from carts.value_types import Guid, Record, Values


class CartItemOptionSerializer(RecordSerializer):
    """An option that the customer selected for an item."""

    record = Option


class CartItemSerializer(RecordSerializer):
    """An item of Create Cart, and the request body of Add Item."""

    record = Item
    options = CartItemOptionSerializer(many=True)


class UpdateCartItemSerializer(CartItemSerializer):
    """The request body of Update Item. What is not sent is not kept."""


class CreateCartSerializer(RecordSerializer):
    """The request body of Create Cart."""

    record = NewCart
    items = CartItemSerializer(many=True)


class PlacedCartItemSerializer(CartItemSerializer):
    """An item of Replace Items. With the itemId of an item of the cart it replaces that item."""

    itemId = TypedField(Guid(), source="item_id", required=False, allow_null=True)  # noqa: N815

    def to_record(self, values: Values) -> tuple[UUID | None, Item]:
        return values.get("item_id"), super().to_record(values)


class AddItemsSerializer(RecordSerializer):
    """The request body of Add Items."""

    record: ClassVar[Record] = AddedItems
    items = CartItemSerializer(many=True)


class ReplaceItemsSerializer(AddItemsSerializer):
    """The request body of Replace Items. What is not sent is not kept."""

    record = ItemList
    refuses_unknown = True
    items = PlacedCartItemSerializer(many=True)

    def validate(self, values: Values) -> Values:
        check_named_once((item_id for item_id, _ in values["items"]), "itemId")
        return values


class CloseCartSerializer(RecordSerializer):
    """The request body of Close Cart."""

    record: ClassVar[Record] = Closing
    # Who sends a `status` or `version` that a read shows means something by it, and must hear.
    ignored_members: ClassVar[frozenset[str]] = frozenset()
    refuses_unknown = True


class ReopenCartSerializer(CloseCartSerializer):
    """The request body of Reopen Cart, which need not be sent."""

    record = Reopening


class MoveCartSerializer(CloseCartSerializer):
    """The request body of Move Cart."""

    record = CartMove


class ChangeCartSerializer(ChangeSerializer):
    """The request body of Change Cart. What is not sent stays as it is."""

    record = NewCart
    changeable = CHANGEABLE_CART_FIELDS


class ChangeCartItemSerializer(ChangeSerializer):
    """The request body of Change Item. What is not sent stays as it is."""

    record = Item
    changeable = CHANGEABLE_ITEM_FIELDS
