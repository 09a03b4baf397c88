"""What the desk tells those whom it refuses."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from cartsvc import pages
from cartsvc.sign_in import CHECKING
from tests.browser.conftest import FIND, LOOKS, check, member, sign_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def anna(db: None) -> None:
    member("anna", "Cart support")


@pytest.mark.parametrize("width", [1280, 390])
def test_whom_the_sign_in_page_refuses_reads_why(open_page: Callable[..., Any], width: int) -> None:
    page = open_page(width)
    page.goto(FIND)

    def attempt(name: str) -> str:
        page.get_by_label("Username").fill("anna")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.locator(".errornote").wait_for()
        check(page, f"sign-in-{name}-{width}")
        return page.locator(".errornote").inner_text()

    assert "correct username and password" in attempt("refused")
    with CHECKING:
        assert "Nothing was checked" in attempt("busy")
    assert page.get_by_label("Username").input_value() == "anna"
    for _ in range(4):
        told = attempt("locked")
    assert "wait up to 15 minutes" in told
    # The browser says so itself when a page is refused.
    assert [complaint.split("status of ")[1][:3] for complaint in open_page.complaints] == [
        "503",
        "429",
    ]
    open_page.complaints.clear()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_who_asks_for_too_much_at_once_reads_why(
    open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, width: int, scheme: str
) -> None:
    page = open_page(width, scheme)
    sign_in(page, "anna")
    monkeypatch.setattr(pages, "place_of", lambda _user: nullcontext(enter_result=False))
    page.reload()
    page.get_by_role("heading", name="Too many pages").wait_for()
    check(page, f"too-many-{width}-{scheme}")
    assert "nothing was changed" in page.get_by_role("main").inner_text()
    assert len(open_page.complaints) == 1  # the browser's own, of the status
    open_page.complaints.clear()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_whose_form_is_out_of_date_reads_why(
    open_page: Callable[..., Any], width: int, scheme: str
) -> None:
    page = open_page(width, scheme)
    page.goto(FIND)
    page.get_by_label("Username").fill("anna")
    page.get_by_label("Password").fill("wrong")
    page.context.clear_cookies()
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="out of date").wait_for()
    check(page, f"out-of-date-{width}-{scheme}")
    assert "Nothing was changed" in page.get_by_role("main").inner_text()
    assert len(open_page.complaints) == 1  # the browser's own, of the status
    open_page.complaints.clear()
