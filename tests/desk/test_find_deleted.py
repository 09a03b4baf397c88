import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from carts.models import Cart
from tests.desk.conftest import CARTS, page_of, words
from tests.support.factories import CartFactory

DELETED = UUID("01900110-aaaa-7000-8000-000000000001")
ALIKE = UUID("01900110-bbbb-7000-8000-000000000002")


@pytest.fixture
def deleted(db: None) -> Cart:
    cart: Cart = CartFactory(id=DELETED)
    Cart.objects.delete_cart(cart.pk)
    return cart


def look(client: Client, term: object) -> tuple[list[Cart], list[UUID], str]:
    """Return the carts and the deleted carts that the page lists, and its words."""
    response: Any = client.get(CARTS, {"q": str(term)})
    assert response.status_code == 200
    gone = re.findall(f'<a href="{CARTS}([^/]+)/history/"', response.text)
    return response.context["result"].carts, [UUID(key) for key in gone], words(response.text)


@pytest.mark.parametrize("length", [8, 9, 13, 30])
def test_the_beginning_of_a_deleted_cart_is_not_taken_for_another_cart(
    viewer: Client, deleted: Cart, length: int
) -> None:
    alike: Cart = CartFactory(id=ALIKE)
    carts, gone, text = look(viewer, str(DELETED)[:length])
    assert carts == ([alike] if length < 10 else [])
    assert gone == [DELETED]
    assert f"Deleted carts that this may mean, the newest: {DELETED} of " in text
    assert ("No other cart matches." in text) == (not carts)
    assert viewer.get(CARTS, {"q": str(ALIKE)[:13]}).url == page_of(alike)


def test_a_beginning_lists_a_few_deleted_carts(viewer: Client) -> None:
    for number in range(12):
        CartFactory(id=UUID(int=ALIKE.int + number))
        Cart.objects.delete_cart(UUID(int=ALIKE.int + number))
    _, gone, _ = look(viewer, str(ALIKE)[:8])
    assert gone == [UUID(int=ALIKE.int + number) for number in range(11, 1, -1)]


def test_the_deleted_carts_of_a_customer_are_listed(viewer: Client, deleted: Cart) -> None:
    """A customer who says that all the carts are gone."""
    key = deleted.profile_key
    carts, gone, text = look(viewer, key)
    assert (carts, gone) == ([], [DELETED])
    assert f"the newest: {DELETED} of {key}, deleted " in text
    assert "by Command line" in text
    assert "No other cart matches." in text
    left: Cart = CartFactory(profile_key=key)
    _, gone, _ = look(viewer, str(key)[:13])
    assert gone == [DELETED]
    for number in range(10):
        cart = CartFactory(id=UUID(int=2**127 - number), profile_key=key)
        Cart.objects.delete_cart(cart.pk)
    carts, gone, _ = look(viewer, key)
    assert (carts, gone) == ([left], [UUID(int=2**127 - number) for number in range(9, -1, -1)])
