"""The serializers, views and routes of the tutorial's cart."""
# ruff: noqa: N815 (the wire's names)

from typing import Any, ClassVar

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from rest_framework import generics, serializers

from tests.bench.rivals.tutorial.models import Cart, CartItem, CartItemOption


class OptionSerializer(serializers.ModelSerializer):
    optionSetKey = serializers.IntegerField(source="option_set_key")
    optionSetItemKey = serializers.IntegerField(source="option_set_item_key")
    displayName = serializers.CharField(source="display_name", max_length=100)

    class Meta:
        model = CartItemOption
        fields: ClassVar = ["optionSetKey", "optionSetItemKey", "displayName", "currency", "price"]


class ItemSerializer(serializers.ModelSerializer):
    itemId = serializers.IntegerField(source="id", read_only=True)
    menuKey = serializers.CharField(source="menu_key", max_length=20)
    menuVersion = serializers.IntegerField(source="menu_version")
    menuItemKey = serializers.IntegerField(source="menu_item_key")
    displayName = serializers.CharField(source="display_name", max_length=100)
    specialInstructions = serializers.CharField(
        source="special_instructions", max_length=300, required=False, allow_null=True
    )
    options = OptionSerializer(many=True, required=False)

    class Meta:
        model = CartItem
        fields: ClassVar = [
            "itemId",
            "menuKey",
            "menuVersion",
            "menuItemKey",
            "displayName",
            "currency",
            "price",
            "quantity",
            "specialInstructions",
            "options",
        ]

    @transaction.atomic
    def update(self, instance: CartItem, validated_data: dict[str, Any]) -> CartItem:
        options = validated_data.pop("options", [])
        instance = super().update(instance, validated_data)
        instance.options.all().delete()
        for option in options:
            CartItemOption.objects.create(item=instance, **option)
        return instance


class CartSerializer(serializers.ModelSerializer):
    cartId = serializers.UUIDField(source="id", read_only=True)
    partnerKey = serializers.CharField(source="partner_key", max_length=4)
    restaurantKey = serializers.IntegerField(source="restaurant_key")
    orderingChannel = serializers.CharField(source="ordering_channel", max_length=50)
    fulfilmentChannel = serializers.CharField(source="fulfilment_channel", max_length=50)
    specialInstructions = serializers.CharField(
        source="special_instructions", max_length=300, required=False, allow_null=True
    )
    items = ItemSerializer(many=True, required=False)

    class Meta:
        model = Cart
        fields: ClassVar = [
            "cartId",
            "partnerKey",
            "restaurantKey",
            "platform",
            "orderingChannel",
            "fulfilmentChannel",
            "currency",
            "note",
            "specialInstructions",
            "items",
        ]

    @transaction.atomic
    def create(self, validated_data: dict[str, Any]) -> Cart:
        items = validated_data.pop("items", [])
        cart = Cart.objects.create(**validated_data)
        for values in items:
            options = values.pop("options", [])
            item = CartItem.objects.create(cart=cart, **values)
            for option in options:
                CartItemOption.objects.create(item=item, **option)
        return cart


class CartList(generics.ListCreateAPIView):
    serializer_class = CartSerializer

    def get_queryset(self) -> QuerySet[Cart]:
        return Cart.objects.filter(profile_key=self.kwargs["profile_key"]).prefetch_related(
            "items__options"
        )

    def perform_create(self, serializer: CartSerializer) -> None:
        serializer.save(profile_key=self.kwargs["profile_key"])


class CartDetail(generics.RetrieveAPIView):
    serializer_class = CartSerializer

    def get_queryset(self) -> QuerySet[Cart]:
        return Cart.objects.filter(profile_key=self.kwargs["profile_key"]).prefetch_related(
            "items__options"
        )


class ItemDetail(generics.UpdateAPIView):
    serializer_class = ItemSerializer

    def get_queryset(self) -> QuerySet[CartItem]:
        return CartItem.objects.filter(
            cart=self.kwargs["cart_id"], cart__profile_key=self.kwargs["profile_key"]
        )


CARTS = "v2.0/customers/<uuid:profile_key>/carts"

urlpatterns = [
    path(CARTS, CartList.as_view()),
    path(f"{CARTS}/<uuid:pk>", CartDetail.as_view()),
    path(f"{CARTS}/<uuid:cart_id>/items/<int:pk>", ItemDetail.as_view()),
]
