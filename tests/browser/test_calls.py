"""Calls about many carts, or a cart without its id: how many clicks each takes."""

import math
import uuid
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from carts.admin import many_carts_page
from carts.models import Cart
from tests.browser.conftest import Agent, check
from tests.desk.conftest import CARTS
from tests.desk.test_put_back_many import held, set_prices
from tests.support.factories import CartFactory, ItemFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a bulk take as long as it does, on a machine that may be busy."""
    monkeypatch.setattr(many_carts_page, "BULK_SECONDS", math.inf)


def choose_all(agent: Agent) -> None:
    agent.page.get_by_label("All of this page").check()
    agent.clicks += 1


def narrow(agent: Agent, **filters: str) -> None:
    agent.page.get_by_text("Filters", exact=True).click()
    agent.clicks += 1
    for label, value in filters.items():
        agent.type(label.replace("_", " "), value)
    agent.click("button", "Apply")


def an_hour_ago() -> str:
    there = timezone.now().astimezone(ZoneInfo("Asia/Tokyo"))  # where the browser is
    return f"{there - timedelta(hours=1):%Y-%m-%dT%H:%M}"


@pytest.mark.parametrize("place", [3, 30])
def test_an_id_that_is_read_over_the_phone_with_a_wrong_digit(
    agent: Agent, cart: Cart, place: int
) -> None:
    digits = list(cart.pk.hex)
    digits[place] = "9" if digits[place] != "9" else "8"
    agent.find(str(uuid.UUID("".join(digits))))
    agent.page.wait_for_url(f"**{CARTS}{cart.pk}/change/")
    assert agent.clicks == 0
    check(agent.page, f"misread-{place}")


def test_a_pasted_link(agent: Agent, cart: Cart) -> None:
    agent.find(f"https://desk.example.com{CARTS}{cart.pk}/change/?before=2#version-1")
    agent.page.wait_for_url(f"**{CARTS}{cart.pk}/change/")
    assert agent.clicks == 0


def test_a_partners_carts_of_today_go_to_another_channel(agent: Agent, cart: Cart) -> None:
    carts = [CartFactory(partner_key="P019", items=[ItemFactory()]) for _ in range(12)]
    agent.find("P019 today")
    choose_all(agent)
    agent.click("button", "Change channels")
    agent.type("Fulfilment channel", "PICKUP")
    agent.click("button", "Preview")
    agent.click("button", "Change 12 carts")
    agent.told("Carts changed: 12.")
    assert agent.clicks == 4
    changed = Cart.objects.filter(pk__in=[one.pk for one in carts])
    assert {one.fulfilment_channel for one in changed} == {"PICKUP"}


def test_a_partners_bad_change_of_32_carts_is_undone(agent: Agent, cart: Cart) -> None:
    dishes = [ItemFactory(display_name=f"Dish {n}") for n in range(10)]
    carts = [CartFactory(partner_key="P019", items=dishes) for _ in range(32)]
    before = [held(one) for one in carts]
    for one in carts:
        set_prices(one, 1)
    narrow(agent, Changed_by="Sync P019", Changed_from=an_hour_ago())
    choose_all(agent)
    agent.click("button", "Put back what Sync P019 changed since")
    check(agent.page, "put-back-32")
    agent.click("button", "Put it back in 32 carts")
    agent.told("Carts changed: 32.")
    assert agent.clicks == 5
    check(agent.page, "put-back-32-done")
    assert [held(one) for one in carts] == before


def test_my_cart_has_vanished(agent: Agent, cart: Cart) -> None:
    wanted = CartFactory(partner_key="P019", items=[ItemFactory(display_name="Cheeseburger")])
    CartFactory(partner_key="P019", items=[ItemFactory()])
    agent.find("P019 burger today")
    agent.click("link", str(wanted.pk))
    assert agent.page.url.endswith(f"{CARTS}{wanted.pk}/change/")
    assert agent.clicks == 1


def test_a_restaurants_day_as_a_workbook(agent: Agent, cart: Cart) -> None:
    agent.find(f"{cart.restaurant_key} today")
    with agent.page.expect_download() as download:
        agent.click("link", "Download as a workbook")
    assert download.value.suggested_filename == "carts.xlsx"
    assert agent.clicks == 1
