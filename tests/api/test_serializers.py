"""The serializers behave as the framework's: what a developer adds to one is called."""

from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.serializers import ValidationError

from carts.serializers import (
    CartItemOptionSerializer,
    CartItemSerializer,
    ChangeCartSerializer,
    CreateCartSerializer,
)
from carts.value_types import checked
from carts.views import CartViewSet
from tests.support import bodies
from tests.support.answers import errors_of
from tests.support.callers import Api
from tests.support.table_contents import Unchanged


class Polite(ChangeCartSerializer):
    def validate_note(self, value: Any) -> Any:
        if value == "rude":
            raise ValidationError("Say please.", code="rude")
        return value and value.strip()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("platform") == attrs.get("note"):
            raise DjangoValidationError("One says it already.", code="twice")
        return attrs


@pytest.mark.parametrize(
    ("data", "errors"),
    [
        ({"note": "rude"}, [("rude", "/note")]),
        ({"note": "x", "platform": "x"}, [("twice", "")]),
        (
            {"note": "x" * 301, "platform": 7},
            [("invalid_type", "/platform"), ("max_length", "/note")],
        ),
    ],
)
def test_errors_are_told(data: Any, errors: list[tuple[str, str]]) -> None:
    _, found = checked(Polite().body_check, data)
    assert sorted((each.code, each.pointer) for each in found.errors) == errors


def test_what_validate_returns_counts() -> None:
    values, _ = checked(Polite().body_check, {"note": " Thanks ", "platform": "web"})
    assert values == {"note": "Thanks", "platform": "web"}


class PoliteOption(CartItemOptionSerializer):
    def validate_displayName(self, value: Any) -> Any:  # noqa: N802
        raise ValidationError("Say please.", code="rude")


class PoliteItem(CartItemSerializer):
    options = PoliteOption(many=True, required=False, allow_null=True)

    def validate_specialInstructions(self, value: Any) -> Any:  # noqa: N802
        return value or "None"

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["special_instructions"] == "None":
            raise ValidationError({"quantity": ["At least two."]}, code="few")
        return attrs


class PoliteCart(CreateCartSerializer):
    items = PoliteItem(many=True, required=False, allow_null=True)


@pytest.mark.parametrize(
    ("item", "errors"),
    [
        (bodies.item(), [("rude", "/items/1/options/0/displayName")]),
        (bodies.bare_item(), []),
        (bodies.bare_item(specialInstructions=None), [("few", "/items/1/quantity")]),
        (bodies.bare_item(specialInstructions=None, price=-1), [("min_value", "/items/1/price")]),
    ],
)
def test_hooks_refuse_over_http(
    api: Api,
    unchanged: Unchanged,
    monkeypatch: pytest.MonkeyPatch,
    item: Any,
    errors: list[tuple[str, str]],
) -> None:
    """That of a member if it is sent, that of an object if its members are as they must be."""
    declared = vars(CartViewSet.create)
    operation = replace(declared["operation"], body=PoliteCart())
    monkeypatch.setitem(declared, "operation", operation)

    answer = api.post(body=bodies.cart(items=[bodies.bare_item(), item]))

    if errors:
        assert (answer.status_code, errors_of(answer)) == (400, errors)
    else:
        assert answer.status_code == 200
        unchanged()
