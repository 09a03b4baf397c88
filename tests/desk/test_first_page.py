"""The first page of a member of staff."""

from typing import Any

from django.test import Client

from carts.models import Cart
from tests.desk.conftest import CARTS, MINE, correct_page, form_of, staff, words
from tests.support.factories import CartFactory


def test_the_first_page_has_the_carts_that_one_changed_last(lead: Client) -> None:
    first, second, third = (CartFactory() for _ in range(3))
    cleo = staff("Cart support agent", name="cleo")
    page = cleo.get("/admin/", follow=True)
    assert page.request["PATH_INFO"] == MINE
    assert "You have changed no cart yet. Find one above, or see the newest carts" in words(
        page.text
    )
    for client, cart in ((cleo, third), (lead, second), (cleo, first)):
        url = correct_page(cart)
        client.post(url, form_of(client, url) | {"note": f"{client} {cart.version}"})
    page = cleo.get(MINE)
    assert [cart.pk for cart in page.context["result"].carts] == [first.pk, third.pk]
    assert f'action="{CARTS}" class="find"' in page.text
    assert f'<a class="screen-only" href="{CARTS}">' in page.text
    assert [cart.pk for cart in lead.get(MINE).context["result"].carts] == [second.pk]


def test_the_first_page_asks_as_often_whatever_was_changed(
    lead: Client, django_assert_num_queries: Any
) -> None:
    for count in (1, 20):
        for cart in [CartFactory() for _ in range(count)]:
            url = correct_page(cart)
            lead.post(url, form_of(lead, url) | {"note": "Ring"})
        # session, account, two of permissions, the last entry, the entries, their carts,
        # the channels to choose from
        with django_assert_num_queries(8):
            lead.get(MINE)


def test_a_deleted_cart_is_not_among_them(lead: Client) -> None:
    cart = CartFactory()
    url = correct_page(cart)
    lead.post(url, form_of(lead, url) | {"note": "Ring"})
    Cart.objects.delete_cart(cart.pk)
    assert lead.get(MINE).context["result"].carts == []


def test_a_tab_says_what_was_searched_and_clearing_the_filters_keeps_it(lead: Client) -> None:
    CartFactory()
    page = lead.get(CARTS, {"q": "naan & rice", "platform": "kiosk"}).text
    assert "<title>naan &amp; rice · Carts · Support desk</title>" in page
    assert '<a href="?q=naan%20%26%20rice">Clear all</a>' in page
    assert "<title>Carts · Support desk</title>" in lead.get(CARTS).text
    assert '<a href="?">Clear all</a>' in lead.get(CARTS).text
