import re
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from axes.models import AccessAttempt, AccessFailureLog
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from carts.models import Cart
from carts.models.cart_change import Author
from tests.desk.conftest import (
    ACCOUNTS,
    CARTS,
    LOGIN,
    MINE,
    PASSWORD,
    guess,
    member,
    page_of,
    sign_in,
    staff,
    words,
)
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.usefixtures("cheap_passwords")

PASSWORD_HASHERS = settings.PASSWORD_HASHERS


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture
def anna(db: None) -> User:
    return member("anna", "Cart support")


def expire(attempts: Any) -> None:
    attempts.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1))


def test_five_failures_lock_a_name_for_a_network_for_a_while(anna: User) -> None:
    first, second, other = (
        Client(REMOTE_ADDR=address)
        for address in ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1")
    )
    assert guess(first) == [200] * 4 + [429]
    locked = second.post(LOGIN, {"username": "anna", "password": PASSWORD})
    assert locked.status_code == 429
    assert "Please wait up to 15 minutes" in locked.text
    assert not Session.objects.exists()
    # Strangers cannot lock the member of staff out who is elsewhere, nor anybody else.
    assert sign_in(other) == 302
    member("ben")
    assert sign_in(first, name="ben") == 302
    expire(AccessAttempt.objects.all())
    assert sign_in(first) == 302


def test_a_password_is_hashed_by_argon2(db: None, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    user = User.objects.create_user("ben", password=PASSWORD)
    assert user.password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    # One that another installation has hashed is taken, and hashed anew.
    user.password = make_password(PASSWORD, hasher="pbkdf2_sha256")
    user.save()
    assert sign_in(Client(), name="ben") == 200  # not a member of staff, but the password is right
    user.refresh_from_db()
    assert user.password.startswith("argon2$")


@pytest.mark.parametrize(("groups", "arrival"), [(["Cart support"], MINE), ([], "/admin/")])
@pytest.mark.parametrize(
    "next_page", [None, "/admin/", "https://example.com/", "//example.com", "javascript:1"]
)
def test_a_sign_in_leads_to_the_search_or_else_to_the_start_page(
    db: None, groups: list[str], arrival: str, next_page: str | None
) -> None:
    member("anna", *groups)
    client = Client()
    sent = {"username": "anna", "password": PASSWORD} | ({"next": next_page} if next_page else {})
    signed_in = client.post(LOGIN, sent, follow=True)
    again = client.get(LOGIN, follow=True)
    for response in (signed_in, again):
        assert (response.redirect_chain[-1], response.status_code) == ((arrival, 302), 200)


def test_every_way_home_leads_to_the_search(viewer: Client, cart: Cart) -> None:
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    for client, page in ((viewer, page_of(cart)), (root, page_of(cart)), (root, ACCOUNTS)):
        text = client.get(page).text
        (home,) = re.findall('<div id="site-name"><a href="(.+?)"', text)
        (first,) = re.findall('class="breadcrumbs">.*?<a href="(.+?)"', text, re.DOTALL)
        for url in {home, first}:
            response = client.get(url, follow=True)
            assert response.request["PATH_INFO"] in {CARTS, MINE}
        # The start page is no longer the way to the accounts.
        assert (f'<a href="{ACCOUNTS}">Users</a>' in text) == (client is root)


def test_the_host_alone_leads_staff_to_the_desk(viewer: Client, db: None) -> None:
    stranger = Client()
    for client, arrival in ((viewer, "/admin/"), (stranger, "/docs")):
        assert client.get("/").url == arrival


def test_a_page_that_is_refused_has_the_way_out(viewer: Client) -> None:
    for page in (f"{CARTS}{uuid4()}/delete/", "/admin/auth/group/", "/admin/nowhere/"):
        response = viewer.get(page)
        assert response.status_code in {403, 404}
        assert "Welcome, ben." in words(response.text)
        for part in ('action="/admin/logout/"', 'name="q"', 'action="/admin/carts/cart/"'):
            assert part in response.text
    for page in ("/admin/logout/", LOGIN):
        text = (viewer.post if "logout" in page else viewer.get)(page).text
        (heading,) = re.findall("<h1>(.+?)</h1>", text)
        assert heading == ("You are logged out" if "logout" in page else "Log in")
        assert 'name="q"' not in text


def test_a_sign_in_leads_to_the_page_that_was_asked_for(anna: User) -> None:
    client, page = Client(), f"{CARTS}?q=4711"
    sent = {"username": "anna", "password": PASSWORD, "next": page}
    assert client.post(LOGIN, sent).url == page


def test_expired_attempts_go_with_the_next_failure(anna: User) -> None:
    for name in ("one", "two"):
        guess(Client(), 1, name)
    expire(AccessAttempt.objects.all())
    guess(Client(), 1, "three")
    assert [attempt.username for attempt in AccessAttempt.objects.all()] == ["three"]
    assert not AccessFailureLog.objects.exists()


@pytest.mark.parametrize("name", ["x" * 300, "🍕" * 300, "x" * 100_000, "\u202e", "a\nb", "\0"])
def test_a_name_that_is_none_is_an_ordinary_refusal(db: None, name: str) -> None:
    assert guess(Client(), 1, name) == [200]
    for attempt in AccessAttempt.objects.all():
        attempt.clean_fields(exclude=["get_data"])
    assert not Session.objects.exists()


def test_success_forgets_the_failures_before(anna: User) -> None:
    client = Client()
    for _ in range(2):
        assert [sign_in(client, "wrong") for _ in range(4)] == [200] * 4
        assert sign_in(client) == 302


def test_a_session_ends_eight_hours_after_the_last_page_and_says_so(
    anna: User, django_assert_num_queries: Any
) -> None:
    client, now = Client(), timezone.now()
    sign_in(client)
    assert not client.cookies["sessionid"]["max-age"]
    User.objects.update(last_login=now - timedelta(hours=7))
    Session.objects.update(expire_date=now + timedelta(hours=1))
    client.get(CARTS)
    age = Session.objects.get().expire_date - now
    assert timedelta(hours=8) <= age < timedelta(hours=9)
    # session, account, two of permissions, the ids of no carts, no channels: renewed only after
    # a while
    with django_assert_num_queries(6):
        client.get(CARTS)
    for send, said in ((client.get, "ended."), (client.post, "ended. Nothing was saved.")):
        sign_in(client)
        Session.objects.update(expire_date=now)
        response = send(CARTS, follow=True)
        assert response.redirect_chain[0][0].startswith(LOGIN)
        assert [str(each) for each in response.context["messages"]] == [f"Your session has {said}"]
    for path in (LOGIN, CARTS):
        assert "session has ended" not in Client().get(path, follow=True).text


@pytest.mark.parametrize("path", ["channels/", "put-back/"])
def test_a_session_that_ends_on_a_page_of_many_carts_leads_back_to_the_list(
    anna: User, cart: Cart, unchanged: Unchanged, path: str
) -> None:
    anna.groups.set([Group.objects.get(name="Cart support agent")])
    Cart.objects.by(Author("bearer", "app")).change_cart(cart.pk, {"note": "x"})
    unchanged()
    client, found = Client(), f"{CARTS}?restaurant_key={cart.restaurant_key}&changed_by=app"
    sign_in(client)
    page = unescape(client.get(found).text)
    (url,) = re.findall(f'action="({CARTS}{path}[^"]*)"', page)
    Session.objects.all().delete()
    refused = client.post(url, {"cart": str(cart.pk), "platform": "phone", "sure": "yes"})
    asked = client.get(refused.url)
    assert "Your session has ended. Nothing was saved." in words(asked.text)
    sent = {"username": "anna", "password": PASSWORD, "next": asked.context["next"]}
    back = client.post(LOGIN, sent, follow=True)
    assert back.redirect_chain[-1] == (found, 302)
    assert [str(each) for each in back.context["messages"]] == ["Select the carts again."]
    assert [*back.context["result"].carts] == [cart]


def test_who_has_no_last_login_any_more_goes_on(viewer: Client) -> None:
    User.objects.update(last_login=None)
    assert viewer.get(CARTS).status_code == 200


@pytest.mark.parametrize("group", [None, "Cart support", "Cart support lead"])
@pytest.mark.parametrize(
    "path", [LOGIN, CARTS, "/admin/", "/admin/nowhere/", f"{CARTS}1/items/add/"]
)
def test_pages_are_not_kept_have_a_strict_policy_and_refuse_frames(
    db: None, path: str, group: str | None
) -> None:
    client = staff(group) if group else Client()
    for response in (client.get(path), client.post(path)):
        assert "no-store" in response.headers["Cache-Control"]
        policy = response.headers["Content-Security-Policy"]
        assert sorted(policy.split("; ")) == sorted(POLICY.split("; "))
        assert response.headers["X-Frame-Options"] == "DENY"
