"""The wire shape: camelCase outside, snake_case inside.

A serializer is built once and asked by `run_validation(data)`: building one a request
copies every field. None of them keeps anything of a request.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from rest_framework import serializers
from rest_framework.fields import empty

from carts.cart_errors import CannotChange, TooMany
from carts.models import Cart, CartItem, CartItemOption
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, sent_fields
from carts.models.reads import TAIL
from carts.models.writes import CHANGEABLE
from carts.wire_types import DoubleField, IntField, StringField, invalid_type
from cartsvc.camel_case import camel_case
from cartsvc.request_errors import MAX_ERRORS, ApiError, ApiErrors, Null, Required, UnknownMember


class WireSerializer(serializers.ModelSerializer):
    """A JSON object of the specification. Unknown members are ignored, and can be listed.

    The API document shows the docstrings of the serializers.
    """

    # What a list may hold too many of, and the setting that says how many.
    plural: ClassVar[str]
    limit: ClassVar[str]
    # What a change of the object refuses, whatever it holds.
    fixed: ClassVar[frozenset[str]] = frozenset()

    serializer_field_mapping: ClassVar = {
        models.CharField: StringField,
        models.IntegerField: IntField,
        models.BigIntegerField: IntField,
        models.DecimalField: DoubleField,
    }

    def run_validation(self, data: Any = empty) -> dict[str, Any]:
        """Return the values by the names of the model's fields.

        Raises:
            ApiError: with an error and a JSON Pointer for each wrong value, up to `MAX_ERRORS`.
        """
        if type(data) is not dict:
            raise invalid_type("an object", data).below("")
        values: dict[str, Any] = {}
        errors: list[ApiError] = []
        if self.fixed:
            errors += [CannotChange(field=f"/{name}") for name in data if name in self.fixed]
        for name, source, field in self.members:
            if len(errors) > MAX_ERRORS:
                break
            sent = data.get(name)
            if sent is not None:
                try:
                    values[source] = field.to_internal_value(sent)
                except ApiError as error:
                    errors += error.below(f"/{name}").errors
            elif name in data and field.allow_null:
                values[source] = None
            elif name in data or field.required:
                errors.append((Null if name in data else Required)(field=f"/{name}"))
        if errors:
            raise ApiErrors(errors)
        return values

    @property
    def max_count(self) -> int:
        return int(getattr(settings, self.limit))

    @cached_property
    def members(self) -> list[tuple[str, str, serializers.Field]]:
        """Each member's name on the wire, its name in the model, and its field."""
        return [(name, field.source or name, field) for name, field in self.fields.items()]

    @cached_property
    def known(self) -> frozenset[str]:
        """The members that may be sent: those of the object, and those that a read shows."""
        return READ_ONLY_MEMBERS.union(self.fixed, (name for name, _, _ in self.members))

    @cached_property
    def lists(self) -> dict[str, "WireSerializer"]:
        """The members that are lists of objects, with the serializer of the objects."""
        return {
            name: field.child
            for name, _, field in self.members
            if isinstance(field, WireListSerializer)
        }

    def unknown_members(self, data: Any, pointer: str = "") -> Iterator[ApiError]:
        """Yield an error for each unknown member of any JSON value, in the order sent."""
        if type(data) is not dict:
            return
        for name, value in data.items():
            if name not in self.known:
                token = shortened(name).replace("~", "~0").replace("/", "~1")
                yield UnknownMember(field=f"{pointer}/{token}")
            elif name in self.lists and type(value) is list:
                child = self.lists[name]
                # Most objects have nothing unknown, and then no other call is made for them.
                known = frozenset() if child.lists else child.known
                for position, element in enumerate(value):
                    if type(element) is dict and not known.issuperset(element):
                        yield from child.unknown_members(element, f"{pointer}/{name}/{position}")


class WireListSerializer(serializers.ListSerializer):
    """A JSON array of objects.

    Too many are refused before they are looked at, so that a flood costs little.
    """

    child: WireSerializer

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if type(data) is not list:
            raise invalid_type("an array", data)
        if len(data) > self.child.max_count:
            raise TooMany(limit=self.child.max_count, plural=self.child.plural)
        values: list[dict[str, Any]] = []
        errors: list[ApiError] = []
        for position, element in enumerate(data):
            try:
                values.append(self.child.run_validation(element))
            except ApiError as error:
                errors += error.below(f"/{position}").errors
                if len(errors) > MAX_ERRORS:
                    break
        if errors:
            raise ApiErrors(errors)
        return values


def shortened(name: str) -> str:
    """Return a name that a caller has made up, shortened and valid in UTF-8."""
    return name[:MAX_NAME_LENGTH].encode(errors="replace").decode()


# What Get Cart and List Carts show beyond what is sent: it may be sent back, and sets nothing.
READ_ONLY_MEMBERS = frozenset(
    {"itemId", "value", "cartId", "profileKey", "itemCount", *map(camel_case, TAIL)}
)
MAX_NAME_LENGTH = 64  # characters


def on_the_wire(*names: str, **extra: Any) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Return `fields` and `extra_kwargs` of a serializer's Meta, in camelCase, for these fields."""
    wire = {camel_case(name): name for name in names}
    return tuple(wire), {
        name: ({"source": source} if name != source else {}) | extra
        for name, source in wire.items()
    }


class CartItemOptionSerializer(WireSerializer):
    """An option that the customer selected for an item."""

    plural, limit = "options on an item", "MAX_OPTIONS"

    class Meta:
        model = CartItemOption
        list_serializer_class = WireListSerializer
        fields, extra_kwargs = on_the_wire(*OPTION_FIELDS)


class CartItemSerializer(WireSerializer):
    """An item of Create Cart, and the request body of Add Item."""

    plural, limit = "items in a cart", "MAX_ITEMS"
    options = CartItemOptionSerializer(many=True, required=False, allow_null=True)

    class Meta:
        model = CartItem
        list_serializer_class = WireListSerializer
        *before, instructions = ITEM_FIELDS
        fields, extra_kwargs = on_the_wire(*before, "options", instructions)


class UpdateCartItemSerializer(CartItemSerializer):
    """The request body of Update Item. What is not sent is not kept."""


class CreateCartSerializer(WireSerializer):
    """The request body of Create Cart."""

    items = CartItemSerializer(many=True, required=False, allow_null=True)

    class Meta:
        model = Cart
        partner, restaurant, *others = sent_fields(Cart)
        fields, extra_kwargs = on_the_wire(partner, restaurant, "items", *others)


class ChangeCartSerializer(WireSerializer):
    """The request body of Change Cart. What is not sent stays as it is."""

    class Meta:
        model = Cart
        fields, extra_kwargs = on_the_wire(*CHANGEABLE, required=False)

    fixed = frozenset(CreateCartSerializer.Meta.fields) - frozenset(Meta.fields)


class ChangeCartItemSerializer(WireSerializer):
    """The request body of Change Item. What is not sent stays as it is."""

    class Meta:
        model = CartItem
        fields, extra_kwargs = on_the_wire("quantity", "special_instructions", required=False)

    fixed = frozenset(CartItemSerializer.Meta.fields) - frozenset(Meta.fields)
