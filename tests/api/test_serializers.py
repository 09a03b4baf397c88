"""The serializers behave as the framework's: what a developer adds to one is called."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.serializers import ValidationError

from carts.serializers import ChangeCartSerializer, CreateCartSerializer
from cartsvc.value_errors import InvalidValue
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
