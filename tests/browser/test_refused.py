"""What the desk tells those whom it refuses."""

import pytest
from django.contrib.auth.models import User

from cartsvc.fairness import PERSON_SECONDS, WORKING
from tests.browser.conftest import FIND, LOOKS, Open, check, complained, member, sign_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def anna(db: None) -> None:
    member("anna", "Cart support")


@pytest.mark.parametrize("width", [1280, 390])
def test_whom_the_sign_in_page_refuses_reads_why(open_page: Open, width: int) -> None:
    page = open_page(width)
    page.goto(FIND)
    for refusal in [".errornote"] * 4 + ["h1"]:
        page.get_by_label("Username").fill("anna")
        page.get_by_label("Password").fill("wrong")
        with page.expect_navigation():
            page.get_by_role("button", name="Log in").click()
        page.locator(refusal).wait_for()
    page.get_by_role("heading", name="Too many failed attempts").wait_for()
    check(page, f"sign-in-locked-{width}")
    assert "wait up to 15 minutes" in page.get_by_role("main").inner_text()
    complained(open_page, 429)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_who_asks_for_too_much_at_once_reads_why(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(width, scheme)
    sign_in(page, "anna")
    caller = f"staff {User.objects.get(username='anna').pk}"
    with WORKING.thread_of(caller, PERSON_SECONDS):
        page.reload()
    page.get_by_role("heading", name="Too many pages").wait_for()
    check(page, f"too-many-{width}-{scheme}")
    assert "nothing was changed" in page.get_by_role("main").inner_text()
    complained(open_page, 503)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_whose_form_is_out_of_date_reads_why(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(width, scheme)
    page.goto(FIND)
    page.get_by_label("Username").fill("anna")
    page.get_by_label("Password").fill("wrong")
    page.context.clear_cookies()
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="out of date").wait_for()
    check(page, f"out-of-date-{width}-{scheme}")
    assert "Nothing was changed" in page.get_by_role("main").inner_text()
    complained(open_page, 403)
