"""Change Item: PATCH /carts/{cartId}/items/{itemId}, an extension."""

from carts.models import CartChange
from tests.support.answers import success
from tests.support.callers import Api
from tests.support.carts import created_with_items, shown
from tests.support.table_contents import computed_totals, stored_totals


def test_changes_the_quantity_and_nothing_else(api: Api) -> None:
    cart_id, [item_id, _] = created_with_items(api, "Calzone", "Pizza")
    before = shown(api, cart_id)

    response = api.patch(f"/{cart_id}/items/{item_id}", {"quantity": 3})

    assert (response.status_code, response.json()) == (200, success("The item was changed."))
    assert response["ETag"] == '"2"'
    after = shown(api, cart_id)
    first, second = before["items"]
    value = first["value"] / first["quantity"] * 3
    assert after == before | {
        "items": [first | {"quantity": 3, "value": value}, second],
        "subtotal": value + second["value"],
        "version": 2,
        "modifiedOn": after["modifiedOn"],
    }
    assert stored_totals(cart_id) == computed_totals(cart_id)
    [change] = CartChange.objects.all()
    assert change.operation == "Change Item"
    assert (change.old, change.new) == ({"quantity": first["quantity"]}, {"quantity": 3})
    assert change.subtotal_after - change.subtotal_before == after["subtotal"] - before["subtotal"]
