"""The serializers behave as the framework's: what a developer adds to one is called."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError as DjangoValidationError
from hypothesis import example, given
from rest_framework.serializers import ValidationError

from carts.serializers import (
    CartItemOptionSerializer,
    CartItemSerializer,
    ChangeCartSerializer,
    CreateCartSerializer,
)
from cartsvc.request_errors import ApiError
from cartsvc.value_errors import InvalidValue
from tests.api.test_fuzz import any_json, nearly
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
    ("data", "errors"),
    [
        ({"note": "rude"}, {"/note": ["rude"]}),
        ({"note": "x", "platform": "x"}, {"": ["twice"]}),
        (
            {"note": "x" * 301, "platform": 7},
            {"/note": ["max_length"], "/platform": ["invalid_type"]},
        ),
    ],
)
def test_errors_are_told(data: Any, errors: dict[str, list[str]]) -> None:
    asked = Polite(data=data)
    assert not asked.is_valid()
    assert {at: [each.code for each in told] for at, told in asked.errors.items()} == errors
    assert asked.validated_data == {}
    with pytest.raises(ValidationError):
        Polite(data=data).is_valid(raise_exception=True)


def test_what_validate_returns_counts() -> None:
    asked = Polite(data={"note": " Thanks ", "platform": "web"})
    assert asked.is_valid()
    assert asked.validated_data == {"note": "Thanks", "platform": "web"}


def test_a_hook_refuses_over_http(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def validate_note(_: Any, value: Any) -> Any:
        raise InvalidValue("Say please.")

    monkeypatch.setattr(CreateCartSerializer, "validate", validate_note)
    answer = api.post(body=bodies.cart())
    assert (answer.status_code, answer.json()["message"]) == (400, "Say please.")


class SlowOption(CartItemOptionSerializer):
    def validate(self, attrs: Any) -> Any:
        """Do nothing, but look at each: so there is no fast way."""
        return attrs


class SlowItem(CartItemSerializer):
    options = SlowOption(many=True, required=False, allow_null=True)
    validate = SlowOption.validate


def outcome(check: Callable[[], Any]) -> Any:
    """Return what a check returns, or nothing if it refuses."""
    try:
        return check()
    except ApiError:
        return None


PLAIN = json.dumps(bodies.item(price=1, options=[bodies.option(price=2)]))


@given((nearly(bodies.item(options=2)) | any_json).map(json.dumps))
@example(PLAIN.replace('"price": 1', '"price": 0').replace('"price": 2', '"price": -0.0'))
@example(PLAIN.replace('"price": 1', '"price": 8.990000000000000000'))
@example(PLAIN.replace('"price": 1', '"price": 0.30000000000000004'))
@example(PLAIN.replace('"price": 1', '"price": 1e-9999999'))
@example(PLAIN.replace('"price": 1', '"price": 1e10'))
@example(PLAIN.replace('"quantity": 2', '"quantity": 2.0'))
def test_the_fast_way_takes_what_the_slow_one_takes(text: str) -> None:
    item = json.loads(text, parse_float=Decimal)
    unknown: list[Any] = []
    slow = outcome(lambda: SlowItem().checked(item, unknown))
    fast = outcome(lambda: CartItemSerializer().fast_check(item))
    # It makes nothing of what the caller is to be told of.
    assert repr(fast) == repr(None if unknown else slow)


def test_the_fast_way_is_taken_unless_a_hook_looks_at_each() -> None:
    assert CartItemSerializer().fast_check(json.loads(PLAIN)).quantity == 2
    assert SlowItem().fast_check is None
