"""Pages that fail: what a member of staff reads, and what the status says."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import django
import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from carts.models import Cart
from tests.desk.conftest import CARTS, staff


def told(client: Client) -> Client:
    """Return the client, which shows the answer to an exception instead of raising it."""
    client.raise_request_exception = False
    return client


def test_an_address_that_names_no_object_is_told(db: None) -> None:
    kind = ContentType.objects.get_for_model(Cart).pk
    answer = told(staff(None)).get(f"/admin/r/{kind}/abc/")
    # Django 6.1 finds out by itself.
    assert answer.status_code == (400 if django.VERSION < (6, 1) else 404)
    assert ("This address cannot be read" in answer.text) == (django.VERSION < (6, 1))


@pytest.mark.parametrize(
    "query", ["last_login__year=0", "username__exact=%00", "date_joined__year=9" + "9" * 19]
)
def test_a_filter_that_no_database_takes_is_told(db: None, query: str) -> None:
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    answer = told(root).get(f"/admin/auth/user/?{query}")
    assert answer.status_code in {200, 302, 400}  # which values fail, the database decides


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00", "9999-12-31T23:59"])
@pytest.mark.parametrize("name", ["created_from", "created_to", "changed_from", "changed_to"])
def test_a_moment_at_the_end_of_the_calendar_is_no_error(
    viewer: Client, cart: Cart, name: str, moment: str, zone: str
) -> None:
    viewer.cookies["timezone"] = zone
    assert viewer.get(CARTS, {name: moment}).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_an_outage_is_told_on_every_page(
    unreachable: Callable[[], AbstractContextManager[None]],
) -> None:
    client, stranger = told(staff("Cart support lead")), told(Client())
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


def defect(_request: HttpRequest) -> HttpResponse:
    raise LookupError("a secret")


urlpatterns = [path("admin/defect/", defect), path("admin/", admin.site.urls)]


@pytest.mark.urls(__name__)
def test_a_defect_is_told_without_its_text(viewer: Client) -> None:
    answer = told(viewer).get("/admin/defect/")
    assert answer.status_code == 500
    assert "Something went wrong on our side" in answer.text
    assert "secret" not in answer.text
