"""Fields that are absent, null or of another type; lists; members that are not fields."""

from collections.abc import Callable
from typing import Any

import pytest

from carts.models import CartItemOption
from carts.serializers import WireSerializer
from tests.api.field_places import Place, Target, everywhere
from tests.support import bodies
from tests.support.answers import error, problems
from tests.support.callers import Api
from tests.support.carts import created, shown
from tests.support.left_out import LEFT_OUT

REQUIRED = {
    "cart": dict.fromkeys(bodies.bare_cart()),
    "item": dict.fromkeys(bodies.bare_item()),
    "option": dict.fromkeys(bodies.option()),
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "cart": {"items": [], "note": None, "specialInstructions": None},
    "item": {"options": [], "specialInstructions": None},
}
TEXTS = {
    "cart": [
        "partnerKey",
        "platform",
        "orderingChannel",
        "fulfilmentChannel",
        "currency",
        "note",
        "specialInstructions",
    ],
    "item": ["menuKey", "displayName", "currency", "specialInstructions"],
    "option": ["displayName", "currency"],
}
LISTS = {"cart": {"items": "items"}, "item": {"options": "options"}}


def test_the_required_fields_are_those_of_the_specification() -> None:
    assert [*REQUIRED["cart"], *REQUIRED["item"], *REQUIRED["option"]] == [
        *("partnerKey", "restaurantKey", "platform", "orderingChannel", "fulfilmentChannel"),
        *("currency", "menuKey", "menuVersion", "menuItemKey", "displayName", "currency"),
        *("price", "quantity", "optionSetKey", "optionSetItemKey", "displayName", "currency"),
        "price",
    ]


@pytest.mark.parametrize(("place", "field", "nothing"), everywhere(REQUIRED))
def test_a_required_field_is_required(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, nothing: None
) -> None:
    target = Target(api, place)
    unchanged()

    absent, null = target.send(**{field: LEFT_OUT}), target.send(**{field: None})

    pointer = f"{place.pointer}/{field}"
    assert (absent.status_code, null.status_code) == (400, 400)
    assert absent.json() == error("required", "This field is required.", pointer)
    assert null.json() == error("null", "This field must not be null.", pointer)


@pytest.mark.parametrize("sent", [LEFT_OUT, None], ids=["absent", "null"])
@pytest.mark.parametrize(("place", "field", "default"), everywhere(OPTIONAL))
def test_an_optional_field_may_be_left_out(
    api: Api, place: Place, field: str, default: Any, sent: Any
) -> None:
    target = Target(api, place)

    if field == "items":
        assert shown(api, created(api, bodies.bare_cart(items=None)))["items"] == default
    assert target.kept(field, target.send(**{field: sent})) == default


@pytest.mark.parametrize(
    ("place", "field", "nothing"),
    everywhere({part: dict.fromkeys(names) for part, names in TEXTS.items()}),
)
def test_a_text_is_a_string(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, nothing: None
) -> None:
    target = Target(api, place)
    unchanged()

    for value, found in [
        (5, "a number"),
        (5.5, "a number"),
        (True, "a boolean"),
        (["EUR"], "an array"),
        ({"EUR": 1}, "an object"),
    ]:
        response = target.send(**{field: value})
        assert response.status_code == 400
        assert response.json() == error(
            "invalid_type", f"This must be a string, not {found}.", f"{place.pointer}/{field}"
        )


@pytest.mark.parametrize(("place", "field", "nothing"), everywhere(LISTS))
def test_a_list_is_an_array_of_objects(
    api: Api, unchanged: Callable[[], None], place: Place, field: str, nothing: str
) -> None:
    target = Target(api, place)
    pointer = f"{place.pointer}/{field}"
    unchanged()

    for value, found in [
        ({}, "an object"),
        ({"0": {}}, "an object"),
        ("", "a string"),
        ("[]", "a string"),
        (0, "a number"),
        (False, "a boolean"),
    ]:
        response = target.send(**{field: value})
        assert response.status_code == 400
        assert response.json() == error(
            "invalid_type", f"This must be an array, not {found}.", pointer
        )
    for value, found in [
        (None, "null"),
        ([], "an array"),
        ("x", "a string"),
        (1, "a number"),
        (True, "a boolean"),
    ]:
        response = target.send(**{field: [value]})
        assert response.status_code == 400
        assert response.json() == error(
            "invalid_type", f"This must be an object, not {found}.", f"{pointer}/0"
        )


@pytest.mark.parametrize("operation", ["create", "add", "update"])
def test_an_item_has_at_most_so_many_options(
    api: Api, unchanged: Callable[[], None], settings: Any, operation: str
) -> None:
    settings.MAX_OPTIONS = 3
    place = Place(operation, "item")
    target = Target(api, place)
    most = [bodies.option()] * 3
    assert len(target.kept("options", target.send(options=most))) == 3
    unchanged()

    response = target.send(options=[*most, bodies.option()])

    assert response.status_code == 400
    assert response.json() == error(
        "too_many",
        "There must not be more than 3 options on an item.",
        f"{place.pointer}/options",
    )


def test_a_cart_is_created_with_at_most_so_many_items(
    api: Api, unchanged: Callable[[], None], settings: Any
) -> None:
    settings.MAX_ITEMS = 3
    assert len(shown(api, created(api, bodies.cart(items=3)))["items"]) == 3
    unchanged()

    response = api.post(body=bodies.cart(items=4))

    assert response.status_code == 400
    assert response.json() == error(
        "too_many", "There must not be more than 3 items in a cart.", "/items"
    )


def test_the_limits_are_those_of_the_contract(settings: Any) -> None:
    assert (settings.MAX_ITEMS, settings.MAX_OPTIONS) == (200, 100)
    assert settings.MAX_BODY_BYTES == 256 * 1024


def test_a_flood_is_refused_before_its_elements_are_looked_at(
    api: Api, unchanged: Callable[[], None]
) -> None:
    flood = [bodies.item(options=[0] * 101)], [0] * 501

    assert problems(api.post(body=bodies.cart(items=flood[0]))) == [
        ("too_many", "/items/0/options")
    ]
    assert problems(api.post(body=bodies.cart(items=flood[1]))) == [("too_many", "/items")]


@pytest.mark.parametrize("place", ["cart", "item", "option"])
def test_unknown_members_are_ignored(api: Api, place: str) -> None:
    target = Target(api, Place("create", place))
    unknown: dict[str, Any] = {
        "partnerkey": 1,
        "menu_key": 1,
        "": None,
        "__proto__": {"price": 0},
        "value": -1,
        "version": "9",
        "history": "x",
    }

    response = target.send(**unknown)

    assert response.status_code == 200


@pytest.mark.parametrize(
    "heedless",
    [
        {"extra_kwargs": {"currency": {"default": "EUR"}}},
        {"read_only_fields": ("currency",)},
        {"validate_currency": str},
    ],
    ids=["default", "read_only", "validate_"],
)
def test_a_serializer_refuses_to_be_given_what_it_does_not_heed(heedless: dict[str, Any]) -> None:
    meta = {"model": CartItemOption, "fields": ("currency",)}
    own = {name: value for name, value in heedless.items() if callable(value)}
    meta |= {name: value for name, value in heedless.items() if name not in own}
    careless = type("Careless", (WireSerializer,), {"Meta": type("Meta", (), meta), **own})

    with pytest.raises(TypeError, match="are not heeded"):
        careless().run_validation({"currency": "EUR"})
