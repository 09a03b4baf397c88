"""What the desk tells those whom it refuses."""

import random
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.template.response import TemplateResponse

from cartsvc.concurrency_limit import COMPUTING
from tests.browser.conftest import FIND, LOOKS, Open, check, complained, sign_in
from tests.desk.conftest import item_page, member
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def anna(db: None) -> None:
    member("anna", "Cart support")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_who_is_refused_reads_why(
    open_page: Open, width: int, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "randint", lambda *_: 3600)  # time to look at the page
    look = f"{width}-{scheme}"
    page = open_page(width, scheme)

    def guess() -> None:
        page.get_by_label("Username").fill("anna")
        page.get_by_label("Password").fill("wrong")
        with page.expect_navigation():
            page.get_by_role("button", name="Log in").click()

    def refused(status: int, heading: str, text: str) -> None:
        page.get_by_role("heading", name=heading).wait_for()
        check(page, f"refused-{status}-{look}")
        assert text in page.get_by_role("main").inner_text()
        complained(open_page, status)

    sign_in(page, "anna")
    caller = f"staff {User.objects.get(username='anna').pk}"
    with COMPUTING.seat_for(caller):
        page.reload()
    refused(503, "Too many pages", "opens by itself")

    page.context.clear_cookies()
    page.goto(FIND)
    for error in [".errornote"] * 4 + ["h1"]:
        guess()
        page.locator(error).wait_for()
    refused(
        429, "Too many failed attempts", "wait up to 15 minutes, or ask a lead or an administrator"
    )

    page.goto(FIND)
    page.context.clear_cookies()
    guess()
    refused(403, "out of date", "Nothing was changed")


def test_six_tabs_open_in_the_end(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page()
    sign_in(page, "anna")
    render = TemplateResponse.render

    def slowly(response: TemplateResponse) -> Any:
        time.sleep(0.8)
        return render(response)

    monkeypatch.setattr(TemplateResponse, "render", slowly)
    statuses: list[int] = []
    page.context.on("response", lambda response: statuses.append(response.status))
    tabs = [page.context.new_page() for _ in range(6)]
    for number, tab in enumerate(tabs):
        tab.evaluate("url => { location = url }", f"{page.url}?q=naan{number}")
    for tab in tabs:
        tab.get_by_text("No cart matches.").wait_for()
    assert 503 in statuses


def test_a_form_that_was_refused_as_busy_is_not_sent_again_and_keeps_what_was_typed(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, unchanged: Unchanged
) -> None:
    monkeypatch.setattr(COMPUTING, "seconds", 0)
    cart, zoe = CartFactory(items=[ItemFactory()]), member("zoe", "Cart support agent")
    unchanged()
    page = open_page()
    sign_in(page, "zoe")
    page.goto(item_page(cart))
    page.get_by_label("Quantity").fill("7")
    with COMPUTING.seat_for(f"staff {zoe.pk}"):
        page.get_by_role("button", name="Save").click()
        page.get_by_text("This one was not opened, and nothing was changed.").wait_for()
        page.get_by_role("link", name="Try again").click()
        page.get_by_text("This one opens by itself in a few seconds.").wait_for()
    page.get_by_text("What you typed is here again. It is not saved yet.").wait_for()
    assert page.get_by_label("Quantity").input_value() == "7"
    complained(open_page, 503, 503)
