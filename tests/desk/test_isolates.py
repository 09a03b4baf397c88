"""What callers wrote is isolated wherever the desk shows it, whatever characters it holds."""

from time import process_time

import pytest
from django.test import Client

from carts.models import Cart
from carts.records import Item
from tests.desk.conftest import (
    CARTS,
    delete_page,
    form_of,
    item_page,
    page_of,
    put_back_page,
    remove_page,
)
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

# Each holds what stands between two values of a line.
NAMES = ["12” small", "“a", "كولا, 0.5 لتر", "שלום; ", "a → b", "+ option c", "1 × d, 5.00"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_isolate_whatever_it_holds(lead: Client, name: str) -> None:
    option = OptionFactory(display_name=name)
    cart = CartFactory(items=[ItemFactory(display_name="x", quantity=1, price=3)])
    page = item_page(cart)
    lead.post(page, form_of(lead, page) | {"display_name": name})
    cart.items.get().change(options=[option])
    cart.items.get().remove()
    pages = [lead.get(url).text for url in (page_of(cart), f"{page_of(cart)}?staff")]
    history, log = (text.partition('id="history-heading"')[2] for text in pages)
    assert f'<span dir="ltr">name “<bdi>x</bdi>” → “<bdi>{name}</bdi>”</span>' in history
    assert f'<span dir="ltr">+ option <bdi>{name}</bdi>, 1.25</span>' in history
    assert f'<span dir="ltr">1 × <bdi>{name}</bdi>, 3.00</span>' in history
    assert f"Item “<bdi>x</bdi>”: name “<bdi>x</bdi>” → “<bdi>{name}</bdi>”</span>" in log


@pytest.mark.parametrize("name", NAMES)
def test_titles_and_headings_hold_isolates(lead: Client, name: str) -> None:
    cart = CartFactory(items=[ItemFactory(display_name=name)])
    item = cart.items.get()
    item.change(quantity=7)
    for url, before, after in (
        (item_page(cart), "Correct ", ""),
        (f"{CARTS}{cart.pk}/items/add/?like={item.pk}", "Add ", " again"),
        (remove_page(cart), "Remove ", "?"),
        (put_back_page(cart), "Put ", " back?"),
    ):
        page = lead.get(url).text
        heading = f'<span dir="ltr">{before}<bdi>{name}</bdi>{after}</span>'
        assert f"<h1>{heading}</h1>" in page
        assert f"&rsaquo; {heading}" in page
        assert f" · {before}\u2068{name}\u2069{after} · Support desk</title>" in page


def test_no_value_ends_its_isolate_or_is_markup(lead: Client) -> None:
    cart = CartFactory(items=[ItemFactory(display_name="<b>\u2069x\u2068\u202e")])
    assert "2 × <bdi>&lt;b&gt;x</bdi>, 10.10</span>" in lead.get(delete_page(cart)).text
    response = lead.post(remove_page(cart), {"version": "1"}, follow=True)
    assert "Item “<bdi>&lt;b&gt;x</bdi>” removed." in response.text


def test_a_history_is_shown_in_time_whatever_options_are_called(viewer: Client) -> None:
    """A search for the end of each quote would take as long as the texts' length squared."""
    old, new = (
        [OptionFactory(display_name=f"{n}; ".ljust(100, "“"), price=n) for _ in range(100)]
        for n in (1, 2)
    )
    cart = CartFactory(items=[ItemFactory(options=old) for _ in range(10)])
    other = Item(**ItemFactory(options=new))
    Cart.objects.replace_items(cart.pk, {item.pk: other for item in cart.items.all()})
    started = process_time()
    page = viewer.get(page_of(cart)).text
    assert process_time() - started < 5
    assert page.count("+ option <bdi>2; “““") == 1_000
