"""The serializers, views and routes of the tutorial's cart."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers, viewsets

from tests.bench.rivals.tutorial.models import Cart, CartItem, CartItemOption


class OptionSerializer(serializers.ModelSerializer):
    class Meta:
        model = CartItemOption
        exclude = ["id", "item"]


class ItemSerializer(serializers.ModelSerializer):
    options = OptionSerializer(many=True, required=False)

    class Meta:
        model = CartItem
        exclude = ["cart"]

    @transaction.atomic
    def update(self, instance: CartItem, validated_data: dict[str, Any]) -> CartItem:
        options = validated_data.pop("options", [])
        instance = super().update(instance, validated_data)
        instance.options.all().delete()
        for option in options:
            CartItemOption.objects.create(item=instance, **option)
        return instance


class CartSerializer(serializers.ModelSerializer):
    items = ItemSerializer(many=True, required=False)

    class Meta:
        model = Cart
        exclude = ["profileKey", "createdOn", "modifiedOn"]

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


class CartViewSet(viewsets.ModelViewSet):
    serializer_class = CartSerializer

    def get_queryset(self) -> QuerySet[Cart]:
        carts = Cart.objects.filter(profileKey=self.kwargs["profile_key"])
        return carts.prefetch_related("items__options")

    def perform_create(self, serializer: CartSerializer) -> None:
        serializer.save(profileKey=self.kwargs["profile_key"])


class ItemViewSet(viewsets.ModelViewSet):
    serializer_class = ItemSerializer

    def get_queryset(self) -> QuerySet[CartItem]:
        cart, profile = self.kwargs["cart_id"], self.kwargs["profile_key"]
        return CartItem.objects.filter(cart=cart, cart__profileKey=profile)


CARTS = "v2.0/customers/<uuid:profile_key>/carts"

urlpatterns = [
    path(CARTS, CartViewSet.as_view({"get": "list", "post": "create"})),
    path(f"{CARTS}/<uuid:pk>", CartViewSet.as_view({"get": "retrieve"})),
    path(f"{CARTS}/<uuid:cart_id>/items/<int:pk>", ItemViewSet.as_view({"put": "update"})),
]
