"""The smallest valid objects, made by the model layer's own writes."""

import uuid
from decimal import Decimal
from typing import Any

import factory
from django.utils import timezone

from carts.models import Cart
from carts.records import Item, NewCart


class OptionFactory(factory.DictFactory):
    option_set_key = 501
    option_set_item_key = factory.Sequence(int)
    display_name = "Extra mozzarella"
    currency = "EUR"
    price = Decimal("1.25")


class ItemFactory(factory.DictFactory):
    """Values of an item for `cart.add_item(**values)`."""

    menu_key = "DINNER-2026"
    menu_version = 7
    menu_item_key = factory.Sequence(int)
    display_name = "Pizza Margherita"
    currency = "EUR"
    price = Decimal("10.10")
    quantity = 2

    class Params:
        with_option = factory.Trait(options=factory.LazyFunction(lambda: [OptionFactory()]))


def new_item(**values: Any) -> Item:
    return Item(**ItemFactory(**values))


def new_cart() -> NewCart:
    values = factory.build(dict, FACTORY_CLASS=CartFactory)
    del values["profile_key"]
    return NewCart(**values)


class CartFactory(factory.django.DjangoModelFactory):
    """A cart without items; `items=[ItemFactory()]` gives it some."""

    class Meta:
        model = Cart

    profile_key = factory.LazyFunction(uuid.uuid4)
    partner_key = "ACME"
    restaurant_key = 4711
    platform = "ios-app"
    ordering_channel = "MOBILE"
    fulfilment_channel = "DELIVERY"
    currency = "EUR"

    @classmethod
    def _create(cls, model_class: type[Cart], *args: Any, **values: Any) -> Cart:
        if "id" not in values:
            return model_class.objects.create_with_items(*args, **values)
        # An id may be of any time, so the creation is dated.
        carts, cart_id = model_class.objects.dated(timezone.now()), values.pop("id")
        carts.create_cart(cart_id, values.pop("profile_key"), NewCart(**values))
        return carts.get(pk=cart_id)
