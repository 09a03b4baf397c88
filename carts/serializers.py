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

from carts.errors import CannotChange
from carts.limits import validate_count
from carts.models import Cart, CartItem, CartItemOption
from carts.models.item import ITEM_FIELDS, OPTION_FIELDS, sent_fields
from carts.models.statements import CHANGEABLE
from carts.wire_types import DoubleField, IntField, StringField, invalid_type
from cartsvc.camel_case import camel_case
from cartsvc.errors import (
    MAX_PROBLEMS,
    Null,
    Refusal,
    Refusals,
    Required,
    UnknownMember,
)


class WireSerializer(serializers.ModelSerializer):
    """A JSON object of the specification. Unknown members are ignored, and can be listed.

    The API document shows the docstrings of the serializers.
    """

    plural: ClassVar[str]  # what a list holds too many of

    serializer_field_mapping: ClassVar = {
        models.CharField: StringField,
        models.IntegerField: IntField,
        models.BigIntegerField: IntField,
        models.DecimalField: DoubleField,
    }

    def run_validation(self, data: Any = empty) -> dict[str, Any]:
        """Return the values by the names of the model's fields.

        Raises:
            Refusal: with a problem for each value that is wrong, and a JSON Pointer to it.
                After `MAX_PROBLEMS` nothing more is looked for.
        """
        if type(data) is not dict:
            raise invalid_type("an object", data).below("")
        values: dict[str, Any] = {}
        problems: list[Refusal] = []
        for name, source, field in self.members:
            if len(problems) > MAX_PROBLEMS:
                break
            sent = data.get(name)
            if sent is None:
                # null on an optional field means "not sent"
                if field.required:
                    wrong = Null if name in data else Required
                    problems.append(wrong(field=f"/{name}"))
                continue
            try:
                values[source] = field.to_internal_value(sent)
            except Refusal as refusal:
                problems += refusal.below(f"/{name}").reasons
        if problems:
            raise Refusals(problems)
        return values

    @property
    def max_count(self) -> int:
        """How many of these a list may hold."""
        raise NotImplementedError

    @cached_property
    def members(self) -> list[tuple[str, str, serializers.Field]]:
        """Each member's name on the wire, its name in the model, and its field.

        Raises:
            TypeError: a field has an argument that `run_validation` ignores.
        """
        for name, field in self.fields.items():
            if field.read_only or field.default is not empty or hasattr(self, f"validate_{name}"):
                raise TypeError(f"{name}: read_only, default and validate_{name} are not heeded.")
        return [(name, field.source or name, field) for name, field in self.fields.items()]

    @cached_property
    def known(self) -> frozenset[str]:
        """The members that may be sent: those of the object, and those that a read shows."""
        return READ_ONLY_MEMBERS.union(name for name, _, _ in self.members)

    @cached_property
    def lists(self) -> dict[str, "WireSerializer"]:
        """The members that are lists of objects, with the serializer of the objects."""
        return {
            name: field.child
            for name, _, field in self.members
            if isinstance(field, WireListSerializer)
        }

    def has_unknown_members(self, data: dict[str, Any]) -> bool:
        """Return whether an otherwise valid object has unknown members."""
        if not self.known.issuperset(data):
            return True
        for name, child in self.lists.items():
            elements = data.get(name) or ()
            # Checked here, because a call for each of many options would cost more.
            if not all(map(child.known.issuperset, elements)):
                return True
            if child.lists and any(map(child.has_unknown_members, elements)):
                return True
        return False

    def unknown_members(self, data: Any, pointer: str = "") -> Iterator[Refusal]:
        """Yield a problem for each unknown member of any JSON value, in the order sent."""
        for name, value in data.items() if type(data) is dict else ():
            if name not in self.known:
                yield UnknownMember(field=f"{pointer}/{_token(name)}")
            elif name in self.lists and type(value) is list:
                for position, element in enumerate(value):
                    yield from self.lists[name].unknown_members(
                        element, f"{pointer}/{name}/{position}"
                    )


class ChangeSerializer(WireSerializer):
    """Some members of an object: what is sent changes, null takes an optional text away (RFC 7396).

    The `fixed` members cannot be changed, whatever they hold.
    """

    fixed: ClassVar[frozenset[str]]

    def run_validation(self, data: Any = empty) -> dict[str, Any]:
        if type(data) is not dict:
            raise invalid_type("an object", data).below("")
        values: dict[str, Any] = {}
        problems: list[Refusal] = [
            CannotChange(field=f"/{name}") for name in data if name in self.fixed
        ]
        for name, source, field in self.members:
            if name not in data:
                continue
            if data[name] is None and not field.allow_null:
                problems.append(Null(field=f"/{name}"))
                continue
            try:
                sent = data[name]
                values[source] = None if sent is None else field.to_internal_value(sent)
            except Refusal as refusal:
                problems += refusal.below(f"/{name}").reasons
        if problems:
            raise Refusals(problems)
        return values

    @cached_property
    def known(self) -> frozenset[str]:
        return super().known | self.fixed


class WireListSerializer(serializers.ListSerializer):
    """A JSON array of objects.

    Too many are refused before they are looked at, so that a flood costs little.
    """

    child: WireSerializer

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if type(data) is not list:
            raise invalid_type("an array", data)
        validate_count(len(data), self.child.max_count, self.child.plural)
        values: list[dict[str, Any]] = []
        problems: list[Refusal] = []
        for position, element in enumerate(data):
            try:
                values.append(self.child.run_validation(element))
            except Refusal as refusal:
                problems += refusal.below(f"/{position}").reasons
                if len(problems) > MAX_PROBLEMS:
                    break
        if problems:
            raise Refusals(problems)
        return values


def shortened(name: str) -> str:
    """Return a name that a caller has made up, shortened and valid in UTF-8."""
    return name[:MAX_NAME_LENGTH].encode(errors="replace").decode()


def _token(name: str) -> str:
    """Return a member's name as a JSON Pointer token."""
    return shortened(name).replace("~", "~0").replace("/", "~1")


# What Get Cart and List Carts show beyond what is sent: it may be sent back, and sets nothing.
READ_ONLY_MEMBERS = frozenset(
    {
        "itemId",
        "value",
        "cartId",
        "profileKey",
        "itemCount",
        "subtotal",
        "createdOn",
        "modifiedOn",
        "version",
    }
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

    plural = "options on an item"

    class Meta:
        model = CartItemOption
        list_serializer_class = WireListSerializer
        fields, extra_kwargs = on_the_wire(*OPTION_FIELDS)

    @property
    def max_count(self) -> int:
        return settings.MAX_OPTIONS


class CartItemSerializer(WireSerializer):
    """An item of Create Cart, and the request body of Add Item."""

    plural = "items in a cart"
    options = CartItemOptionSerializer(many=True, required=False, allow_null=True)

    class Meta:
        model = CartItem
        list_serializer_class = WireListSerializer
        *before, instructions = ITEM_FIELDS
        fields, extra_kwargs = on_the_wire(*before, "options", instructions)

    @property
    def max_count(self) -> int:
        return settings.MAX_ITEMS


class UpdateCartItemSerializer(CartItemSerializer):
    """The request body of Update Item. What is not sent is not kept."""


class CreateCartSerializer(WireSerializer):
    """The request body of Create Cart."""

    items = CartItemSerializer(many=True, required=False, allow_null=True)

    class Meta:
        model = Cart
        partner, restaurant, *others = sent_fields(Cart)
        fields, extra_kwargs = on_the_wire(partner, restaurant, "items", *others)


class ChangeCartSerializer(ChangeSerializer):
    """The request body of Change Cart. What is not sent stays as it is."""

    class Meta:
        model = Cart
        fields, extra_kwargs = on_the_wire(*CHANGEABLE, required=False)

    fixed = frozenset(CreateCartSerializer.Meta.fields) - frozenset(Meta.fields)


class ChangeCartItemSerializer(ChangeSerializer):
    """The request body of Change Item. What is not sent stays as it is."""

    class Meta:
        model = CartItem
        fields, extra_kwargs = on_the_wire("quantity", "special_instructions", required=False)

    fixed = frozenset(CartItemSerializer.Meta.fields) - frozenset(Meta.fields)
