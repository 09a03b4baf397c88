"""Amounts as people type them: a form and the search read the same, and never another amount."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from carts.models import Cart
from tests.desk.conftest import form_of, found, item_page, items
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged

# How people type an amount of a currency.
READ = {
    ("EUR", "7"): ["7", " 7 ", "007"],
    ("EUR", "12"): ["12,-", "12.-", "12,--", "12,–", "12,- €"],
    ("EUR", "12.5"): ["12.50", "12,50", "12.50 €", "€ 12.50", "€12,50", "12,50\u00a0€", "12.50eur"],
    ("EUR", "12.50"): ["12.50 EUR", "EUR 12.50", "١٢٫٥٠", "１２．５０", "12.5000"],
    ("EUR", "0.5"): [".5", ",5", ".50", "0,5"],
    ("EUR", "0.125"): ["0.125", "0,125", ".125"],
    ("EUR", "1250"): [
        "1.250,00",
        "1,250.00",
        "1 250,00",
        "1\u00a0250,00",
        "1\u202f250,00",
        "1 250",
    ],
    ("EUR", "1250.00"): ["1'250", "1’250", "1.250,00 €", "1 250 EUR", "1.250,-", "1250,00"],
    ("EUR", "1250.5"): ["1'250.50", "1’250,50", "1\u2009250.5", "1\u202f250,50 €"],
    ("EUR", "1250.125"): ["1250.125", "1250,125", "1.250,125", "1,250.125"],
    ("EUR", "12345.5"): ["12 345.50", "12.345,5"],
    ("EUR", "1250000.5"): ["1,250,000.5", "1 250 000,50", "1'250'000.5"],
    ("EUR", "1250000"): ["1.250.000", "1,250,000", "1 250 000 €"],
    ("KWD", "1.25"): ["1.250", "1,25", "1.250 KWD"],
    ("KWD", "1250"): ["1,250.000", "1.250,000"],
    ("JPY", "1300"): ["1,300", "¥1,300", "￥１，３００", "1 300 JPY"],
    ("IDR", "25000"): ["25.000,00", "25,000.00", "IDR 25.000,-"],
    ("CHF", "1250"): ["1'250.-", "1'250.– CHF", "CHF 1250.00"],
    ("CAD", "9.5"): ["$9.50"],
    ("INR", "1250"): ["₹1,250.00"],
}

ASKED = {
    ("EUR", "1.25 or 1250"): ["1.250", "1,250", "1.250 €", "EUR 1,250"],
    ("EUR", "1.2550 or 1255"): ["1.255", "1,255"],
    ("KWD", "1.250 or 1250"): ["1,250"],
    ("KWD", "250.125 or 250125"): ["250,125"],
    ("JPY", "1.3 or 1300"): ["1.300"],
    ("IDR", "25.00 or 25000"): ["25.000"],
}

REFUSED = {
    "Enter a number, such as 9.50.": [
        *("-1", "−1", "--", "--1", "-", ".", ",", "€", "NaN", "1e5", "1E+2", "1_000", "0x10", "5²"),
        *("1,2,3", "1.2.3", "9,5,0", "12.50.", "12,", "1.250.50", "1,250,50", "1 250'000"),
        *("1 25", "12 3456", "1'25", "1\t250", "12,-5", "€ 12.50 EUR", "12.50 kr", "½", "twelve"),
    ],
    "Prices of this cart are in EUR, not in $.": ["12.50 $", "$1"],
    "Prices of this cart are in EUR, not in usd.": ["usd 12.50", "12,-usd"],
    "Prices of this cart are in EUR, not in £.": ["£3"],
}


def cart_in(currency: str) -> Any:
    option = OptionFactory(currency=currency, price="0")
    item = ItemFactory(currency=currency, options=[option], quantity=1, price="3.33")
    return CartFactory(currency=currency, items=[item])


def typed(client: Client, cart: Cart, **fields: str) -> Any:
    url = item_page(cart)
    return client.post(url, form_of(client, url) | fields)


def both(amount: str) -> dict[str, str]:
    return dict.fromkeys(("price", "options-0-price"), amount)


@pytest.mark.parametrize(("currency", "price"), READ)
def test_a_form_and_the_search_read_an_amount_as_people_type_it(
    lead: Client, currency: str, price: str
) -> None:
    cart, other = cart_in(currency), cart_in(currency)
    for amount in READ[currency, price]:
        cart.items.get().change(price=0)
        assert typed(lead, cart, price=amount).status_code == 302, amount
        assert items(cart)[0]["price"] == Decimal(price), amount
        term = amount if re.search("[€¥￥$₹]|[A-Za-z]{3}", amount) else f"{amount} {currency}"
        assert found(lead, q=term) == [cart], term
    assert items(other)[0]["price"] == Decimal("3.33")


@pytest.mark.parametrize(("currency", "either"), ASKED)
def test_what_may_be_two_amounts_is_asked_about(
    lead: Client, unchanged: Unchanged, currency: str, either: str
) -> None:
    cart = cart_in(currency)
    unchanged()
    for amount in ASKED[currency, either]:
        told = f"This may be two amounts: type {either}."
        assert typed(lead, cart, **both(amount)).text.count(told) == 2


@pytest.mark.parametrize(("currency", "either"), ASKED)
def test_each_of_two_amounts_may_be_typed_and_is_found(
    lead: Client, currency: str, either: str
) -> None:
    cart = cart_in(currency)
    for one in either.split(" or "):
        assert typed(lead, cart, price=one).status_code == 302
        assert items(cart)[0]["price"] == Decimal(one)
        for amount in ASKED[currency, either]:
            assert found(lead, q=f"{amount.strip('€EUR ')} {currency}") == [cart]
        # What the page shows is not asked about.
        assert typed(lead, cart).status_code == 302


@pytest.mark.parametrize("told", REFUSED)
def test_what_is_no_amount_of_the_cart_is_refused(
    lead: Client, unchanged: Unchanged, told: str
) -> None:
    cart = cart_in("EUR")
    unchanged()
    for amount in REFUSED[told]:
        assert typed(lead, cart, **both(amount)).text.count(told) == 2, amount


@pytest.mark.parametrize(
    ("number", "either"),
    [("1.000", "1 or 1000"), ("1,000", "1 or 1000"), (" 100.000 ", "100 or 100000")],
)
def test_a_whole_number_that_may_be_two_is_asked_about(
    lead: Client, unchanged: Unchanged, number: str, either: str
) -> None:
    cart = cart_in("EUR")
    unchanged()
    names = ("quantity", "menu_version", "options-0-option_set_key")
    response = typed(lead, cart, **dict.fromkeys(names, number))
    assert response.text.count(f"This may be two numbers: type {either}.") == 3


# How people group digits, and what they take for the point.
STYLES = [(",", "."), (".", ","), (" ", ","), ("\u202f", ","), ("'", "."), ("", "."), ("", ",")]


@given(
    amount=st.decimals(0, 9_999_999, places=3).map(lambda amount: amount.normalize()),
    decimals=st.integers(0, 4),
    style=st.sampled_from(STYLES),
)
@example(amount=Decimal("1.25"), decimals=3, style=("", "."))
@example(amount=Decimal(1250), decimals=0, style=(".", ","))
def test_a_price_is_what_was_meant_or_is_asked_about(
    lead: Client, cart: Cart, amount: Decimal, decimals: int, style: tuple[str, str]
) -> None:
    text = f"{amount:,.{max(decimals, -int(amount.as_tuple().exponent))}f}"
    text = text.translate(str.maketrans(",.", "\0\1")).replace("\0", style[0])
    response = typed(lead, cart, price=text.replace("\1", style[1]))
    is_asked = response.status_code == 200 and "This may be two amounts" in response.text
    assert is_asked or items(cart)[0]["price"] == amount


@given(text=st.text("0123456789" * 3 + ".,’' -–€$EUR\u00a0\u202f٣５²_½\t", max_size=9))
@example("1 250'000")
@example("5²")
def test_a_price_has_the_digits_that_were_typed(lead: Client, cart: Cart, text: str) -> None:
    cart.items.get().change(price=0)
    if typed(lead, cart, price=text).status_code == 302:
        digits = "".join(str(int(one)) for one in text if one.isdecimal())
        price = str(items(cart)[0]["price"])
        assert price.replace(".", "").strip("0") == digits.strip("0")
