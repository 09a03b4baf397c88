"""Delete Cart: DELETE /carts/{cartId}, an extension."""

from carts.models import Cart, CartChange, CartItem, CartItemOption
from tests.support import bodies
from tests.support.answers import success
from tests.support.callers import Api
from tests.support.carts import created_with_items


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
