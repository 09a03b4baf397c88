import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from axes.models import AccessAttempt, AccessFailureLog
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from carts.apps import GROUPS
from carts.models import Cart
from tests.desk.conftest import (
    CARTS,
    PASSWORD,
    correct_page,
    delete_page,
    member,
    page_of,
    staff,
    words,
)
from tests.support.callers import Api
from tests.support.stored import Unchanged

LOGIN = "/admin/login/"
PASSWORD_HASHERS = settings.PASSWORD_HASHERS

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture(autouse=True)
def cheap_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def anna(db: None) -> User:
    return member("anna", "Cart support")


def sign_in(client: Client, password: str = PASSWORD, name: str = "anna") -> int:
    return client.post(LOGIN, {"username": name, "password": password}).status_code


@pytest.mark.django_db(transaction=True)
def test_the_groups_are_there_after_a_flush() -> None:
    Group.objects.all().delete()
    call_command("flush", "--noinput", stdout=StringIO())
    assert sorted(Group.objects.values_list("name", flat=True)) == sorted(GROUPS)


ACCOUNTS = "/admin/auth/user/"


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("Cart support", ["carts.view_cart"]),
        ("Cart support agent", ["carts.change_cart", "carts.view_cart"]),
        (
            "Cart support lead",
            [
                *("auth.add_user", "auth.change_user", "auth.view_user"),
                *("carts.change_cart", "carts.delete_cart", "carts.view_cart"),
            ],
        ),
    ],
)
def test_each_group_may_do_what_it_is_for(
    db: None, cart: Cart, unchanged: Unchanged, name: str, may: list[str]
) -> None:
    permissions = Group.objects.get(name=name).permissions.all()
    granted = sorted(f"{each.content_type.app_label}.{each.codename}" for each in permissions)
    assert granted == may
    client = staff(name, name="carl")
    text = client.get(page_of(cart)).text
    for verb, page in (("change", correct_page(cart)), ("delete", delete_page(cart))):
        allowed = f"carts.{verb}_cart" in may
        assert (page in text) == allowed
        assert client.get(page).status_code == (200 if allowed else 403)
    assert ("Accounts</a>" in text) == (client.get(ACCOUNTS).status_code == 200)


def test_the_accounts_read_like_the_rest_of_the_desk(lead: Client) -> None:
    User.objects.update(last_login=datetime(2026, 6, 1, 3, 38, tzinfo=UTC))
    lead.cookies["timezone"] = "Europe/Berlin"
    text = lead.get(ACCOUNTS).text
    assert "<title>Accounts · Support desk</title>" in text
    assert "<h1>Accounts</h1>" in text
    assert "1 Jun 2026, 05:38 CEST" in text


def account_of(client: Client, user: User) -> str | None:
    """Return the address of the account's page, or None if the client may not open it."""
    url = f"{ACCOUNTS}{user.pk}/change/"
    return url if client.get(url).status_code == 200 else None


def saved(client: Client, url: str, **changes: Any) -> Any:
    """Send the account's form with these changes, and return the page that follows."""
    form = client.get(url).context["adminform"].form
    sent = {field.name: field.value() for field in form if field.value()}
    return client.post(url, {**sent, "_continue": "1", **changes}, follow=True)


def test_a_lead_manages_the_accounts_that_may_do_no_more(lead: Client) -> None:
    other = Group.objects.create(name="Auditors")
    other.permissions.add(Permission.objects.get(codename="delete_user"))
    above = [User.objects.create_superuser("root"), member("zoe"), member("yves")]
    above[1].groups.set([other])
    above[2].user_permissions.set(other.permissions.all())
    assert [account_of(lead, user) for user in above] == [None] * 3
    for user in above:
        assert lead.get(f"{ACCOUNTS}{user.pk}/password/").status_code in {403, 404}
    listed = words(lead.get(ACCOUNTS).text)
    assert [user.username for user in above if user.username in listed] == []

    groups = [Group.objects.get(name="Cart support agent").pk]
    sent = {"username": "carl", "usable_password": "true", "is_staff": "on", "groups": groups}
    password = dict.fromkeys(("password1", "password2"), PASSWORD)
    lead.post(f"{ACCOUNTS}add/", {**sent, **password, "is_superuser": "on"})
    carl = User.objects.get(username="carl")
    assert (carl.is_staff, carl.is_superuser, carl.groups.get().name) == (
        *(True, False),
        "Cart support agent",
    )
    assert re.search("carl.*Cart support agent", words(lead.get(ACCOUNTS).text))
    url = account_of(lead, carl)
    page = saved(lead, url, groups=[other.pk], is_superuser="on", user_permissions=["1"])
    assert f"{other.pk} is not one of the available choices" in page.text
    saved(lead, url, groups=groups, first_name="Carl", is_superuser="on", user_permissions=["1"])
    carl.refresh_from_db()
    assert (carl.first_name, carl.is_superuser, carl.user_permissions.exists()) == (
        *("Carl", False),
        False,
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"is_staff": ""}, "“Staff status”, to log in."),
        ({"groups": []}, "a group, to see carts."),
        ({"groups": [], "is_staff": ""}, "“Staff status”, to log in and a group, to see carts."),
        ({"groups": [], "is_active": ""}, ""),
        ({}, ""),
    ],
)
def test_an_account_that_cannot_use_the_desk_is_told(
    lead: Client, changes: dict[str, Any], told: str
) -> None:
    ben = member("ben", "Cart support")
    page = saved(lead, f"{ACCOUNTS}{ben.pk}/change/", **changes)
    warnings = [str(message) for message in page.context["messages"] if message.tags == "warning"]
    assert warnings == (
        [f"Account “ben” cannot use the desk yet. It still needs {told}"] if told else []
    )


def test_a_lead_frees_a_locked_name(lead: Client) -> None:
    ben = member("ben", "Cart support")
    client = Client()
    assert guess(client, name="ben")[-1] == 429
    listed = lead.get(ACCOUNTS)
    assert re.search(
        "ben.*Cart support.*5-? ?.*2 accounts", words(listed.text[listed.text.index("<main") :])
    )
    sent = {"action": "free_names", "_selected_action": [ben.pk]}
    page = lead.post(ACCOUNTS, sent, follow=True)
    assert "These names may log in again: ben." in words(page.text)
    assert sign_in(client, name="ben") == 302
    assert "delete_selected" not in page.text


def test_an_account_is_called_so_on_every_page(lead: Client) -> None:
    url = f"{ACCOUNTS}{member('ben', 'Cart support').pk}/"
    for path, title in (
        (ACCOUNTS, "Accounts"),
        (f"{ACCOUNTS}add/", "Add account"),
        (f"{url}change/", "Change account"),
        (f"{url}history/", "Change history: ben"),
        (f"{url}password/", "Change password: ben"),
    ):
        page = words(lead.get(path).text.partition("<body")[2])
        assert title in page
        for other in ("Users", "Add user", "Change user", "created a user", "Authentication and"):
            assert other not in page
    assert "The account “ben” was changed successfully" in words(saved(lead, f"{url}change/").text)


def test_a_lead_has_the_same_links_on_every_page_and_no_filter_that_finds_nothing(
    lead: Client, cart: Cart
) -> None:
    for path in (page_of(cart), ACCOUNTS, "/admin/password_change/"):
        page = lead.get(path).text
        assert page.count(f'<a href="{ACCOUNTS}">Accounts</a> /') == 1, path
    assert "superuser" not in lead.get(ACCOUNTS).text


def test_who_is_in_no_group_reads_whom_to_ask(db: None) -> None:
    page = words(staff(name="newbie").get("/admin/", follow=True).text)
    assert "Your account is in no group yet. Ask a lead or an administrator" in page


def test_an_account_is_not_deleted(anna: User) -> None:
    """Its entries in the log of staff would go with it."""
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    page = root.get(ACCOUNTS).text
    assert "delete_selected" not in page
    assert f"{ACCOUNTS}add/" in page
    page = root.get(f"{ACCOUNTS}{anna.pk}/change/")
    assert "deletelink" not in page.text
    assert {"is_active", "is_superuser"} < {*page.context["adminform"].form.fields}
    url = f"{ACCOUNTS}{anna.pk}/delete/"
    assert root.get(url).status_code == root.post(url, {"post": "yes"}).status_code == 403
    action = {"action": "delete_selected", "_selected_action": [anna.pk], "post": "yes"}
    root.post(ACCOUNTS, action)
    assert User.objects.filter(pk=anna.pk).exists()


def expire(attempts: Any) -> None:
    attempts.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1))


def guess(client: Client, times: int = 5, name: str = "anna") -> list[int]:
    return [sign_in(client, "wrong", name) for _ in range(times)]


def test_five_failures_lock_a_name_for_a_network_for_a_while(anna: User) -> None:
    first, second, other = (
        Client(REMOTE_ADDR=address)
        for address in ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1")
    )
    assert guess(first) == [200] * 4 + [429]
    locked = second.post(LOGIN, {"username": "anna", "password": PASSWORD})
    assert (locked.status_code, locked.headers["Retry-After"]) == (429, "900")
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


@pytest.mark.parametrize(("groups", "arrival"), [(["Cart support"], CARTS), ([], "/admin/")])
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
            assert response.request["PATH_INFO"] == CARTS
        # The start page is no longer the way to the accounts.
        assert (f'<a href="{ACCOUNTS}">Accounts</a>' in text) == (client is root)


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


def test_a_former_key_keeps_sessions(anna: User, settings: Settings) -> None:
    client, former = Client(), settings.SECRET_KEY
    sign_in(client)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another secret key " * 4, [former]
    assert client.get(CARTS).status_code == 200
    # The session is signed by the new key now.
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get(CARTS).status_code == 200
    settings.SECRET_KEY = former
    assert client.get(CARTS).status_code == 302


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
    # session, account, two of permissions, the ids of no carts: renewed only after a while
    with django_assert_num_queries(5):
        client.get(CARTS)
    for send, said in ((client.get, "ended."), (client.post, "ended. Nothing was saved.")):
        sign_in(client)
        Session.objects.update(expire_date=now)
        response = send(CARTS, follow=True)
        assert response.redirect_chain[0][0].startswith(LOGIN)
        assert [str(each) for each in response.context["messages"]] == [f"Your session has {said}"]
    for path in (LOGIN, CARTS):
        assert "session has ended" not in Client().get(path, follow=True).text


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


def test_an_answer_of_the_api_carries_no_cookie(api: Api) -> None:
    assert not api.get().cookies
