"""The history of a cart: author, time and operation of each change, what was and what is."""

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
from tests.support.operations import IN_TURN, send


def changes() -> list[CartChange]:
    return list(CartChange.objects.all())


def test_every_operation_of_the_api_is_recorded(db: None) -> None:
    before, api = datetime.now(UTC), Api(sub="till 7")
    cart_id, [first] = created_with_items(api, "Calzone")
    pizza = bodies.item(displayName="Pizza")
    answer = api.post(f"/{cart_id}/items", pizza, X_Request_ID="request-1")
    added = answer.json()["data"]["itemId"]
    api.put(f"/{cart_id}/items/{first}", bodies.bare_item(displayName="Gelato"))
    api.delete(f"/{cart_id}/items/{added}")

    found, cart = changes(), Cart.objects.get()

    assert [
        (each.version, each.operation, str(each.item_id), each.item_name) for each in found
    ] == [
        (2, "Add Item", added, "Pizza"),
        (3, "Update Item", first, "Gelato"),
        (4, "Remove Item", added, "Pizza"),
    ]
    assert found[0].author == Author("bearer", "till 7", "request-1")
    assert {(author.kind, author.name) for author in (cart.created_by, found[2].author)} == {
        ("bearer", "till 7")
    }
    times = [before, cart.created_on, *(change.at for change in found), datetime.now(UTC)]
    assert times == sorted(times)


def test_a_replacement_is_recorded_with_what_differs(db: None) -> None:
    options = [OptionFactory(option_set_item_key=n) for n in (1, 2)]
    item = CartFactory(items=[ItemFactory(menu_item_key=7, options=options)]).items.get()

    chosen = tuple(Option(**option) for option in options)

    item.replace(**ItemFactory(menu_item_key=7, quantity=3, options=options))
    item.change(options=options[:1], special_instructions="Without onions")
    for _ in range(2):
        item.replace(**ItemFactory(menu_item_key=7, quantity=3, options=options[:1]))

    assert [(change.operation, change.was, change.now) for change in changes()] == [
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


def test_a_system_user_without_a_name_may_write(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container's, whose number is in no list of users."""

    def nobody() -> str:
        raise KeyError("uid not found: 1234")

    monkeypatch.setattr("carts.models.cart_change.getuser", nobody)

    assert CartFactory().created_by == Author("shell", "")


def test_long_names_are_cut(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pizza = "\U0001f355"
    monkeypatch.setattr("carts.models.cart_change.getuser", lambda: pizza * 300)
    Api(sub=pizza * 300).post(body=bodies.cart())
    CartFactory()

    names = Cart.objects.values_list("created_by_name", flat=True)
    assert list(names) == [pizza * NAME_LENGTH] * 2


def test_a_name_of_the_operating_system_is_printable(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carts.models.cart_change.getuser", lambda: "an\x1bna\udcff")
    assert CartFactory().created_by == Author("shell", "an\ufffdna\ufffd")


def test_the_latest_changes_are_kept_and_the_creation(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    for _ in range(MAX_CHANGES + 5):
        assert api.put(f"/{cart_id}/items/{item_id}", bodies.bare_item()).status_code == 200

    versions = [change.version for change in changes()]
    assert versions == list(range(7, MAX_CHANGES + 7))
    assert Cart.objects.get().created_by.name == "partner-app"


def test_the_history_calls_operations_by_their_declared_names(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")
    for name in IN_TURN[:-1]:  # the history goes with the cart
        assert send(api, name, cart_id, item_id).status_code == 200

    assert [change.operation for change in changes()] == IN_TURN[:-1]
    room = CartChange._meta.get_field("operation").max_length
    assert all(len(operation.name) <= room for operation in OPERATIONS)
