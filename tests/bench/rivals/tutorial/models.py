"""A cart as tutorials on nested serializers build it."""

import uuid
from typing import ClassVar

from django.db import models


class Cart(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    profile_key = models.UUIDField(db_index=True)
    partner_key = models.CharField(max_length=4)
    restaurant_key = models.IntegerField()
    platform = models.CharField(max_length=50)
    ordering_channel = models.CharField(max_length=50)
    fulfilment_channel = models.CharField(max_length=50)
    currency = models.CharField(max_length=3)
    note = models.CharField(max_length=300, null=True, blank=True)
    special_instructions = models.CharField(max_length=300, null=True, blank=True)
    created_on = models.DateTimeField(auto_now_add=True)
    modified_on = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["-created_on"]

    def __str__(self) -> str:
        return str(self.id)


class CartItem(models.Model):
    cart = models.ForeignKey(Cart, related_name="items", on_delete=models.CASCADE)
    menu_key = models.CharField(max_length=20)
    menu_version = models.IntegerField()
    menu_item_key = models.BigIntegerField()
    display_name = models.CharField(max_length=100)
    currency = models.CharField(max_length=3)
    price = models.DecimalField(max_digits=14, decimal_places=4)
    quantity = models.PositiveIntegerField()
    special_instructions = models.CharField(max_length=300, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.display_name


class CartItemOption(models.Model):
    item = models.ForeignKey(CartItem, related_name="options", on_delete=models.CASCADE)
    option_set_key = models.BigIntegerField()
    option_set_item_key = models.BigIntegerField()
    display_name = models.CharField(max_length=100)
    currency = models.CharField(max_length=3)
    price = models.DecimalField(max_digits=14, decimal_places=4)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.display_name
