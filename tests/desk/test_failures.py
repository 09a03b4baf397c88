"""Pages that fail: what a member of staff reads, and what the status says."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client

from carts.admin import cart_admin
from carts.models import Cart
from tests.desk.conftest import ACCOUNTS, CARTS, form_of, item_page, member, page_of, staff
from tests.support.factories import ItemFactory
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize("path", ["1/1", "1/abc", "abc/1"])
def test_nothing_is_at_the_addresses_that_lead_to_a_site(
    db: None, unchanged: Unchanged, path: str
) -> None:
    """Django's own, for models that have pages of their own outside the desk."""
    for client, status in ((staff(), 404), (Client(), 302)):
        for method in (client.get, client.post):
            assert method(f"/admin/r/{path}/").status_code == status


@pytest.mark.parametrize("query", ["last_login__year=0", "last_login__year=99999999999"])
def test_an_address_that_no_page_has_tells_nothing_of_the_code(db: None, query: str) -> None:
    """Django's lists of accounts take it to the database."""
    client = staff("Cart support lead")
    client.raise_request_exception = False
    answer = client.get(f"{ACCOUNTS}?{query}")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "last_login" not in answer.text


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00", "9999-12-31T23:59"])
@pytest.mark.parametrize("name", ["created_from", "created_to", "changed_from", "changed_to"])
def test_a_moment_at_the_end_of_the_calendar_is_no_error(
    viewer: Client, cart: Cart, name: str, moment: str, zone: str
) -> None:
    viewer.cookies["timezone"] = zone
    assert viewer.get(CARTS, {name: moment}).status_code == 200


ADD = f"{ACCOUNTS}add/"


@pytest.mark.parametrize(
    ("method", "path", "form"),
    [
        ("get", f"{ACCOUNTS}?password__startswith=a", {}),
        ("get", f"{ADD}?_to_field=password", {}),
        ("post", ADD, {"_to_field": "password", "username": "eve"}),
        ("post", ADD, dict.fromkeys(map(str, range(20_000)), "")),
    ],
    ids=["filter", "page", "form", "fields"],
)
def test_what_is_forged_is_one_short_line_of_the_log(
    unchanged: Unchanged,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    form: dict[str, str],
) -> None:
    client = staff("Cart support lead")
    unchanged()
    assert getattr(client, method)(path, form).status_code == 400
    (record,) = (record for record in caplog.records if record.name.startswith("django.security"))
    line = (record.levelname, record.getMessage(), record.exc_info)
    assert line == ("WARNING", "Page refused: 400", None)


def test_no_form_sets_a_time_that_cannot_be_read(lead: Client) -> None:
    """PostgreSQL keeps a time before the year 1, and no page could show the account again."""
    root, ben = Client(), member("ben", "Cart support")
    root.force_login(User.objects.create_superuser("root"))
    root.cookies["timezone"] = "Asia/Tokyo"
    page = f"{ACCOUNTS}{ben.pk}/change/"
    sent = {"username": "ben", "date_joined_0": "0001-01-01", "date_joined_1": "00:00"}
    sent |= {"role": str(ben.groups.get().pk)}
    assert root.post(page, {**sent, "last_login_0": "0001-01-01", "last_login_1": "00:00"}).url
    assert root.get(page).status_code == 200
    then = ben.date_joined, None
    ben.refresh_from_db()
    assert (ben.date_joined, ben.last_login) == then


def test_a_form_from_before_its_item_came_is_refused(lead: Client, cart: Cart) -> None:
    cart.add_item(**ItemFactory())
    added = item_page(cart, 1)
    sent = form_of(lead, added)
    for page in (added, f"{added}remove/"):
        answer = lead.post(page, {**sent, "version": "1", "quantity": "9"})
        assert answer.status_code == 409
    assert Cart.objects.get(pk=cart.pk).version == 2


@pytest.mark.django_db(transaction=True)
def test_an_outage_is_told_on_every_page(
    unreachable: Callable[[], AbstractContextManager[None]],
) -> None:
    client, stranger = staff("Cart support lead"), Client(raise_request_exception=False)
    client.raise_request_exception = False
    stranger.cookies["sessionid"] = "a" * 32
    sent = {"username": "anna", "password": "x"}
    with unreachable():
        answers = [
            client.get("/admin/"),
            client.get(CARTS),
            stranger.get("/admin/"),
            Client(raise_request_exception=False).post("/admin/login/", sent),
        ]
    for answer in answers:
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "The desk cannot reach its data right now" in answer.text
        assert '<a href="">Try again</a>' in answer.text
        assert '<a href="/admin/">back to the start</a>' in answer.text
    assert client.get(CARTS).status_code == 200


@pytest.mark.parametrize("defect", [LookupError, ValueError, OverflowError, ValidationError])
def test_a_defect_is_an_error_and_is_told_without_its_text(
    viewer: Client,
    cart: Cart,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    defect: type[Exception],
) -> None:
    def broken(*_: Any) -> None:
        raise defect("a secret")

    monkeypatch.setattr(cart_admin, "timeline", broken)
    viewer.raise_request_exception = False
    answer = viewer.get(page_of(cart))
    assert answer.status_code == 500
    assert "Something went wrong on our side" in answer.text
    assert "secret" not in answer.text
    (record,) = (record for record in caplog.records if record.name == "django.request")
    assert record.levelname == "ERROR"


def test_a_refused_page_is_one_short_line_of_the_log(
    viewer: Client, lead: Client, cart: Cart, caplog: pytest.LogCaptureFixture
) -> None:
    pages = (item_page(cart), f"{CARTS}{cart.pk}/delete/", f"/admin/nowhere/{cart.pk}/")
    statuses = [viewer.get(page).status_code for page in pages]
    statuses.append(lead.post(item_page(cart) + "remove/", {"version": "9"}).status_code)
    assert statuses == [403, 403, 404, 409]
    records = [record for record in caplog.records if record.name == "django.request"]
    assert [(record.levelname, record.getMessage(), record.exc_info) for record in records] == [
        ("WARNING", f"Page refused: {status}", None) for status in statuses
    ]


@pytest.mark.parametrize("path", ["/admin/login/", CARTS, "/docs"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_that_is_too_large_is_refused_on_a_protected_page(
    viewer: Client, unchanged: Unchanged, path: str, kind: str
) -> None:
    for client in (viewer, Client()):
        answer = client.post(path, b"a=" + b"b" * 3_000_000, content_type=f"{kind}; boundary=b")
        assert answer.status_code in {400, 403}  # one in parts may be refused as a forged one
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
