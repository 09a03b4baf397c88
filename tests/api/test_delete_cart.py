"""Delete Cart: DELETE /carts/{cartId}, an extension."""

from carts.models import Cart, CartChange, CartItem, CartItemOption
from tests.support import bodies
from tests.support.answers import assert_refused, success
from tests.support.callers import Api
from tests.support.carts import created_with_items
from tests.support.operations import ON_A_CART, send
from tests.support.table_contents import Unchanged


def test_takes_the_cart_with_all_that_belongs_to_it(api: Api) -> None:
    kept, _ = created_with_items(api, "Calzone")
    cart_id, [item_id, _] = created_with_items(api, "Pizza", "Gelato")
    api.put(f"/{cart_id}/items/{item_id}", bodies.item(options=3))

    response = api.delete(f"/{cart_id}")

    assert (response.status_code, response.json()) == (200, success("The cart was deleted."))
    assert "ETag" not in response
    assert [str(cart.pk) for cart in Cart.objects.all()] == [kept]
    assert {str(item.cart_id) for item in CartItem.objects.all()} == {kept}
    assert CartItemOption.objects.count() == 1
    assert not CartChange.objects.exists()


def test_a_second_one_and_all_else_is_not_found(
    api: Api, cart_id: str, item_id: str, unchanged: Unchanged
) -> None:
    assert api.delete(f"/{cart_id}").status_code == 200
    unchanged()

    for name in ON_A_CART:
        response = send(api, name, cart_id, item_id)
        assert_refused(response, 404, "cart_not_found", "This profile has no such cart.")
