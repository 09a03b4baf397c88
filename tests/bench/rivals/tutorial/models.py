"""A cart as tutorials on nested serializers build it, with the wire's names."""
# ruff: noqa: DJ008, N815

import uuid

from django.db import models


class Cart(models.Model):
    cartId = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    profileKey = models.UUIDField(db_index=True, editable=False)
    partnerKey = models.CharField(max_length=4)
    restaurantKey = models.IntegerField()
    platform = models.CharField(max_length=50)
    orderingChannel = models.CharField(max_length=50)
    fulfilmentChannel = models.CharField(max_length=50)
    currency = models.CharField(max_length=3)
    note = models.CharField(max_length=300, null=True, blank=True)
    specialInstructions = models.CharField(max_length=300, null=True, blank=True)
    createdOn = models.DateTimeField(auto_now_add=True)
    modifiedOn = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-createdOn"]


class CartItem(models.Model):
    itemId = models.BigAutoField(primary_key=True)
    cart = models.ForeignKey(Cart, related_name="items", on_delete=models.CASCADE)
    menuKey = models.CharField(max_length=20)
    menuVersion = models.IntegerField()
    menuItemKey = models.BigIntegerField()
    displayName = models.CharField(max_length=100)
    currency = models.CharField(max_length=3)
    price = models.DecimalField(max_digits=14, decimal_places=4)
    quantity = models.PositiveIntegerField()
    specialInstructions = models.CharField(max_length=300, null=True, blank=True)

    class Meta:
        ordering = ["itemId"]


class CartItemOption(models.Model):
    item = models.ForeignKey(CartItem, related_name="options", on_delete=models.CASCADE)
    optionSetKey = models.BigIntegerField()
    optionSetItemKey = models.BigIntegerField()
    displayName = models.CharField(max_length=100)
    currency = models.CharField(max_length=3)
    price = models.DecimalField(max_digits=14, decimal_places=4)

    class Meta:
        ordering = ["id"]
