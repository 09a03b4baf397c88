"""The serializers behave as the framework's: what a developer adds to one is called."""

from typing import Any

import pytest
import simplejson
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.serializers import ValidationError

from carts.serializers import (
    CartItemSerializer,
    ChangeCartSerializer,
    CloseCartSerializer,
    CreateCartSerializer,
)
from carts.values import Item
from cartsvc.api.json_view import json_object
from cartsvc.request_errors import InvalidValue
from cartsvc.text import snake_case
from tests.support import bodies


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
    ("serializer", "data", "errors"),
    [
        (Polite, {"note": "rude"}, {"/note": ["rude"]}),
        (Polite, {"note": "x", "platform": "x"}, {"": ["twice"]}),
        (
            Polite,
            {"note": "x" * 301, "platform": 7},
            {"/note": ["max_length"], "/platform": ["invalid_type"]},
        ),
        (CartItemSerializer, bodies.item(price=-1), {"/price": ["min_value"]}),
        (
            CreateCartSerializer,
            bodies.cart(items=[bodies.item(), bodies.item(options=[7])]),
            {"/items/1/options/0": ["invalid_type"]},
        ),
        (CreateCartSerializer, [], {"": ["invalid_type"]}),
        (
            CloseCartSerializer,
            {"outcome": "ordered", "seconds": 60},
            {"/reference": ["required"], "/seconds": ["cannot_change"]},
        ),
    ],
)
def test_errors_are_told(serializer: Any, data: Any, errors: dict[str, list[str]]) -> None:
    data = json_object(simplejson.dumps({"body": data}).encode())["body"]
    asked = serializer(data=data)
    assert not asked.is_valid()
    assert {at: [each.code for each in told] for at, told in asked.errors.items()} == errors
    assert asked.validated_data == {}
    with pytest.raises(ValidationError):
        serializer(data=data).is_valid(raise_exception=True)


def test_what_validate_returns_counts() -> None:
    asked = Polite(data={"note": " Thanks ", "platform": "web"})
    assert asked.is_valid()
    assert asked.validated_data == {"note": "Thanks", "platform": "web"}


def test_a_whole_body_is_the_record() -> None:
    sent = bodies.item(options=2, specialInstructions=None)
    asked = CartItemSerializer(data=json_object(simplejson.dumps(sent).encode()))
    assert asked.is_valid()
    values = {snake_case(name): value for name, value in sent.items()}
    values["options"] = [{snake_case(k): v for k, v in one.items()} for one in sent["options"]]
    assert asked.validated_data == Item(**values)


def test_a_hook_refuses_over_http(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def validate_note(_: Any, value: Any) -> Any:
        raise InvalidValue("Say please.")

    monkeypatch.setattr(CreateCartSerializer, "validate", validate_note)
    answer = api.post(body=bodies.cart())
    assert (answer.status_code, answer.json()["message"]) == (400, "Say please.")
