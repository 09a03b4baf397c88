import re
from typing import Any

import pytest
from django.test import Client

from carts.models import Cart, MovedCart
from tests.desk.conftest import CARTS, page_of, words
from tests.support.callers import PROFILE, STRANGER
from tests.support.factories import CartFactory, ItemFactory


@pytest.fixture
def moved(db: None) -> Cart:
    cart: Cart = CartFactory(profile_key=PROFILE, items=[ItemFactory()])
    cart.move(STRANGER)
    return cart


def test_the_new_customers_search_opens_it(viewer: Client, moved: Cart) -> None:
    response = viewer.get(CARTS, {"q": str(STRANGER)})
    assert [*response.context["result"].carts] == [moved]
    page = words(viewer.get(page_of(moved)).text)
    assert "Move Cart" in page
    assert re.search(rf"profile key “{PROFILE}” → “{STRANGER}”", page)


def test_the_old_customers_search_says_that_it_was_moved(viewer: Client, moved: Cart) -> None:
    response: Any = viewer.get(CARTS, {"q": str(PROFILE)})
    text, left = words(response.text), MovedCart.objects.get()
    assert response.context["result"].carts == []
    assert f"to another one, the newest: {moved.pk}, moved at {left.moved_on:%-d %b %Y}" in text
    assert "by Command line" in text
    assert "eleted" not in text.partition("No other cart matches.")[0]
    assert f'href="{page_of(moved)}"' in response.text


def test_a_cart_beside_one_that_was_moved_is_listed(viewer: Client, moved: Cart) -> None:
    other: Cart = CartFactory(profile_key=PROFILE)
    response: Any = viewer.get(CARTS, {"q": str(PROFILE)})
    assert response.context["result"].carts == [other]
    assert str(moved.pk) in response.text
