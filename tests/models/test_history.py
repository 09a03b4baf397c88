"""The history of a cart: author, time and operation of each change, what was and what is."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from carts.models import Cart, CartChange
from carts.models.cart_change import MAX_CHANGES, NAME_LENGTH, Author
from carts.records import Option
from cartsvc.api.operation import OPERATIONS
from tests.support import bodies
from tests.support.callers import Api
from tests.support.carts import created_with_items
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.operations import IN_TURN, ON_AN_ITEM, send


def changes() -> list[CartChange]:
    return list(CartChange.objects.all())


def test_every_operation_of_the_api_is_recorded(db: None) -> None:
    before, api = datetime.now(UTC), Api(sub="till 7")
    cart_id, [item_id] = created_with_items(api, "Calzone")
    for name in IN_TURN[:-1]:  # the history goes with the cart
        headers = {"X_Request_ID": f"request-{name.replace(' ', '-')}"}
        assert send(api, name, cart_id, item_id, **headers).status_code == 200

    found, cart = changes(), Cart.objects.get()

    assert [(change.version, change.operation) for change in found] == [*enumerate(IN_TURN[:-1], 2)]
    for change in found:
        request_id = f"request-{change.operation.replace(' ', '-')}"
        assert change.author == Author("bearer", "till 7", request_id)
    assert (cart.created_by.kind, cart.created_by.name) == ("bearer", "till 7")
    named = {"Add Item": "Gelato", **dict.fromkeys(ON_AN_ITEM, "Burger")}
    assert {change.operation: change.item_name for change in found if change.item_name} == named
    times = [before, cart.created_on, *(change.at for change in found), datetime.now(UTC)]
    assert times == sorted(times)
    room = CartChange._meta.get_field("operation").max_length
    assert all(len(operation.name) <= room for operation in OPERATIONS)


def nobody() -> str:
    """As the user of a container, whose number is in no list of users."""
    raise KeyError("uid not found: 1234")


PIZZA = "\U0001f355"


@pytest.mark.parametrize(
    ("getuser", "name"),
    [
        (nobody, ""),
        (lambda: PIZZA * 300, PIZZA * NAME_LENGTH),
        (lambda: "an\x1bna\udcff", "an\ufffdna\ufffd"),
    ],
)
def test_any_user_of_the_system_may_write(
    db: None, monkeypatch: pytest.MonkeyPatch, getuser: Callable[[], str], name: str
) -> None:
    monkeypatch.setattr("carts.models.cart_change.getuser", getuser)
    assert CartFactory().created_by == Author("shell", name)


def test_a_long_name_of_a_bearer_is_cut(db: None) -> None:
    Api(sub=PIZZA * 300).post(body=bodies.cart())
    assert Cart.objects.get().created_by.name == PIZZA * NAME_LENGTH


def test_a_replacement_is_recorded_with_what_differs(db: None) -> None:
    options = [OptionFactory(option_set_item_key=n) for n in (1, 2)]
    item = CartFactory(items=[ItemFactory(menu_item_key=7, options=options)]).items.get()

    chosen = tuple(Option(**option) for option in options)

    item.replace(**ItemFactory(menu_item_key=7, quantity=3, options=options))
    item.change(options=options[:1], special_instructions="Without onions")
    for _ in range(2):
        item.replace(**ItemFactory(menu_item_key=7, quantity=3, options=options[:1]))

    assert [(change.operation, change.old, change.new) for change in changes()] == [
        ("Update Item", {"quantity": 2}, {"quantity": 3}),
        (
            "Change Item",
            {"special_instructions": None, "options": chosen},
            {"special_instructions": "Without onions", "options": chosen[:1]},
        ),
        (
            "Update Item",
            {"special_instructions": "Without onions"},
            {"special_instructions": None},
        ),
        ("Update Item", {}, {}),
    ]


def test_the_latest_changes_are_kept_and_the_creation(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    for _ in range(MAX_CHANGES + 5):
        assert api.put(f"/{cart_id}/items/{item_id}", bodies.bare_item()).status_code == 200

    versions = [change.version for change in changes()]
    assert versions == list(range(7, MAX_CHANGES + 7))
    assert Cart.objects.get().created_by.name == "partner-app"
