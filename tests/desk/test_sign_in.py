import re
from datetime import timedelta
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog
from django.apps import apps
from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.core.cache import caches
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from cartsvc import sign_in as sign_in_module
from cartsvc.api.rates import Rate, usage
from tests.desk.conftest import CARTS, item_page, staff, support_group
from tests.support.callers import Api
from tests.support.concurrency import together
from tests.support.factories import CartFactory, ItemFactory
from tests.support.programs import wait_until

LOGIN = "/admin/login/"
PASSWORD = "correct horse battery"
A_DAY = 24 * 60 * 60  # seconds

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture(autouse=True)
def cheap_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def anna(db: None) -> User:
    user = User.objects.create_user("anna", password=PASSWORD, is_staff=True)
    user.groups.add(support_group("Cart support"))
    return user


def sign_in(client: Client, password: str = PASSWORD, name: str = "anna") -> int:
    return client.post(LOGIN, {"username": name, "password": password}).status_code


def granted(name: str) -> set[Any]:
    group = Group.objects.get(name=name)
    return set(group.permissions.values_list("content_type__app_label", "codename"))


def test_the_groups_exist_after_migrate(db: None) -> None:
    assert granted("Cart support") == {("carts", "view_cart")}
    assert granted("Cart support lead") == {("carts", "view_cart"), ("carts", "change_cart")}
    assert Permission.objects.filter(codename="view_cart").count() == 1


def test_the_groups_go_and_come_with_their_migration(anna: User) -> None:
    migration = import_module("carts.migrations.0002_support_groups")
    editor = SimpleNamespace(connection=connection)
    migration.remove_groups(apps, editor)
    assert not Group.objects.exists()
    migration.create_groups(apps, editor)
    migration.create_groups(apps, editor)
    assert granted("Cart support lead") == {("carts", "view_cart"), ("carts", "change_cart")}
    assert User.objects.filter(pk=anna.pk).exists()


def test_an_account_is_not_deleted(lead: Client) -> None:
    cart, root = CartFactory(items=[ItemFactory()]), Client()
    lead.post(item_page(cart) + "remove/", {"version": "1"})
    (entry,) = LogEntry.objects.all()
    root.force_login(User.objects.create_superuser("root"))
    users = "/admin/auth/user/"
    page = root.get(users)
    assert page.status_code == 200
    assert "delete_selected" not in page.text
    assert f"{users}add/" in page.text
    page = root.get(f"{users}{entry.user_id}/change/")
    assert "deletelink" not in page.text
    assert "is_active" in page.context["adminform"].form.fields
    url = f"{users}{entry.user_id}/delete/"
    assert root.get(url).status_code == root.post(url, {"post": "yes"}).status_code == 403
    root.post(
        users, {"action": "delete_selected", "_selected_action": [entry.user_id], "post": "yes"}
    )
    assert LogEntry.objects.get() == entry


def test_a_member_of_staff_signs_in(anna: User) -> None:
    client = Client()
    assert "Cart service · Support desk" in client.get(LOGIN).text
    assert sign_in(client) == 302
    assert client.get(CARTS).status_code == 200


def guess(client: Client, times: int = 5, name: str = "anna") -> list[int]:
    return [sign_in(client, "wrong", name) for _ in range(times)]


def test_five_failures_lock_a_name_for_strangers(anna: User) -> None:
    client = Client()
    assert guess(client) == [200] * 4 + [429]
    assert sign_in(client) == 429
    assert sign_in(Client(REMOTE_ADDR="203.0.113.9")) == 429
    assert client.get(CARTS).status_code == 302
    answer = client.post(LOGIN, {"username": "anna", "password": "x"})
    assert "Too many failed attempts" in answer.text
    assert "wait up to 15 minutes" in answer.text
    assert answer.headers["Retry-After"] == "900"
    assert not Session.objects.exists()


def change_password(client: Client, old: str) -> HttpResponse:
    new = {"new_password1": "a different horse", "new_password2": "a different horse"}
    return client.post("/admin/password_change/", {"old_password": old, **new})


def test_an_open_browser_does_not_let_others_guess_the_password(
    anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches["default"].clear()
    assert Rate(5, 15 * 60) == sign_in_module.CHANGES
    monkeypatch.setattr(sign_in_module, "CHANGES", Rate(5, A_DAY))  # it does not end meanwhile
    client, other = Client(), Client()
    client.force_login(anna)
    other.force_login(User.objects.create_user("ben", password=PASSWORD, is_staff=True))
    answers = [change_password(client, f"wrong {number}") for number in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5

    refused = change_password(client, PASSWORD)

    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= A_DAY + 1
    assert "Please wait up to 15 minutes and try again. Nothing was changed." in refused.text
    assert "<title>Please wait · Support desk</title>" in refused.text
    assert '<a href="">Try again</a>' in refused.text
    assert '<a href="/admin/">back to the start</a>' in refused.text
    assert "signed_in_" not in str(refused.cookies)
    anna.refresh_from_db()
    assert anna.check_password(PASSWORD)
    assert change_password(other, PASSWORD).url == "/admin/password_change/done/"


def test_a_change_of_a_password_waits_for_the_one_that_is_checked(anna: User) -> None:
    caches["default"].clear()
    client = Client()
    client.force_login(anna)
    with sign_in_module.CHECKING:
        answer = change_password(client, PASSWORD)
    assert answer.status_code == 503
    anna.refresh_from_db()
    assert anna.check_password(PASSWORD)


def test_many_networks_do_not_push_out_a_count() -> None:
    caches["default"].clear()
    for number in (1, *range(2, 2_000), 1):
        counted = usage(f"sign-in {number}", Rate(20, A_DAY), counting=True)
    assert counted is not None
    assert counted.sent == 2


def test_strangers_do_not_lock_out_a_known_browser(anna: User) -> None:
    known, stranger = Client(), Client()
    sign_in(known)
    known.post("/admin/logout/")
    assert guess(stranger)[-1] == 429
    assert sign_in(known) == 302
    # The strangers are still locked out.
    assert sign_in(stranger) == 429


def test_a_known_browser_is_locked_by_its_own_failures(anna: User) -> None:
    known = Client()
    sign_in(known)
    assert guess(known) == [200] * 4 + [429]
    assert sign_in(known) == 429
    assert sign_in(Client()) == 302


def test_a_browser_is_known_by_the_name_that_signed_in(anna: User) -> None:
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)
    known = Client()
    sign_in(known)
    (name,) = {*known.cookies} - {"sessionid", "csrftoken"}
    cookie = known.cookies[name]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (LOGIN, True, "Lax")
    assert "anna" not in f"{name}{cookie.value}"
    guess(Client(), name="ben")
    known.cookies["signed_in_" + "0" * 16] = cookie.value
    known.cookies[sign_in_module._cookie("ben")] = cookie.value
    assert sign_in(known, name="ben") == 429


def test_two_people_share_a_browser(anna: User) -> None:
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)
    shared = Client()
    for name in ("anna", "ben"):
        sign_in(shared, name=name)
        shared.post("/admin/logout/")
        guess(Client(), name=name)
    assert (sign_in(shared, name="anna"), sign_in(shared, name="ben")) == (302, 302)


def test_a_lock_ends_and_locks_nobody_else(anna: User) -> None:
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)
    client = Client()
    guess(client)
    assert sign_in(Client(), name="ben") == 302
    expire(AccessAttempt.objects.all())
    assert sign_in(client) == 302


def expire(attempts: Any) -> None:
    attempts.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1))


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


def test_one_password_is_checked_at_a_time(anna: User) -> None:
    client = Client()
    with sign_in_module.CHECKING:  # to wait for it here would be to wait for ever
        answer = client.post(LOGIN, {"username": "anna<b>", "password": PASSWORD, "next": CARTS})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert "Somebody else is signing in" in answer.text
    assert 'value="anna&lt;b&gt;"' in answer.text
    assert f'name="next" value="{CARTS}"' in answer.text
    assert PASSWORD not in answer.text
    assert not AccessAttempt.objects.exists()
    assert not Session.objects.exists()
    assert sign_in(client) == 302
    assert guess(Client(), 1) == [200]


def test_of_many_at_once_one_is_checked(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Any] = []
    refused: list[int] = []

    def check(form: Any) -> None:
        checked.append(form)
        wait_until(lambda: len(refused) == 3)
        raise ValidationError("no")

    def attempt(number: int) -> None:
        client = Client(REMOTE_ADDR=f"192.0.2.{number}")
        refused.extend(status for status in guess(client, 1, str(number)) if status == 503)

    monkeypatch.setattr(AdminAuthenticationForm, "clean", check)
    together([partial(attempt, number) for number in range(4)])
    assert (len(checked), len(refused)) == (1, 3)


@pytest.fixture
def twice_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    caches["default"].clear()
    monkeypatch.setattr(sign_in_module, "RATE", Rate(2, A_DAY))


@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        ("203.0.113.9", "203.0.113.9", "203.0.113.10"),
        ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
        ("::ffff:203.0.113.9", "203.0.113.9", "::ffff:203.0.113.10"),
        ("fe80::1%eth0", "fe80::2%eth0", "fe80:0:0:1::1%eth0"),
    ],
)
@pytest.mark.parametrize("proxied", [False, True])
def test_an_address_has_so_many_attempts(
    db: None, twice_a_day: None, first: str, second: str, other: str, proxied: bool
) -> None:
    def caller(address: str) -> Client:
        if proxied:
            return Client(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR=f"198.51.100.1, {address}")
        return Client(REMOTE_ADDR=address, HTTP_X_FORWARDED_FOR="198.51.100.1")

    assert guess(caller(first), 1) == guess(caller(second), 1) == [200]
    attempts = AccessAttempt.objects.count()
    answer = caller(first).post(LOGIN, {"username": "anna", "password": PASSWORD})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= A_DAY + 1
    assert "Too many attempts to sign in from your network" in answer.text
    assert AccessAttempt.objects.count() == attempts
    assert guess(caller(other), 1) == [200]
    assert caller(first).get(LOGIN).status_code == 200


@pytest.mark.parametrize("forwarded", ["", "nonsense", "unix:", "203.0.113.9, "])
def test_an_unknown_address_is_not_limited(db: None, twice_a_day: None, forwarded: str) -> None:
    client = Client(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert guess(client, 4) == [200] * 4


def test_nobody_is_limited_by_address_while_the_cache_does_not_answer(
    db: None, twice_a_day: None, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    assert guess(Client(REMOTE_ADDR="203.0.113.9"), 3) == [200] * 3
    assert "nobody is limited" in caplog.text


def test_success_forgets_the_failures_before(anna: User) -> None:
    client = Client()
    for _ in range(2):
        assert [sign_in(client, "wrong") for _ in range(4)] == [200] * 4
        assert sign_in(client) == 302


def test_a_session_ends_after_eight_hours(anna: User) -> None:
    client = Client()
    sign_in(client)
    client.get(CARTS)
    session = Session.objects.get()
    assert session.expire_date <= timezone.now() + timedelta(hours=8)
    assert not client.cookies["sessionid"]["max-age"]
    session.expire_date = timezone.now()
    session.save()
    assert client.get(CARTS).url.startswith(LOGIN)


@pytest.mark.parametrize("path", [LOGIN, CARTS, "/admin/", "/admin/nowhere/"])
def test_pages_have_a_strict_policy_and_refuse_frames(db: None, path: str) -> None:
    for client in (Client(), staff("Cart support lead")):
        response = client.get(path)
        policy = response.headers["Content-Security-Policy"]
        assert sorted(policy.split("; ")) == sorted(POLICY.split("; "))
        assert response.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "path", [LOGIN, CARTS, "/admin", "/admin/nowhere/", f"{CARTS}1/items/add/"]
)
@pytest.mark.parametrize("group", [None, "Cart support", "Cart support lead"])
def test_no_page_of_the_desk_is_kept(db: None, path: str, group: str | None) -> None:
    client = staff(group)
    responses = [client.get(path), Client().get(path), client.post(path)]
    assert all("no-store" in response.headers["Cache-Control"] for response in responses)


def test_no_page_has_inline_script_or_style(lead: Client) -> None:
    cart = CartFactory()
    for path in ("", f"{cart.pk}/change/", f"{cart.pk}/items/add/", f"{cart.pk}/history/"):
        page = lead.get(CARTS + path).text
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", page)


def test_a_session_does_not_open_the_api(lead: Client) -> None:
    cart = CartFactory()
    response = lead.get(f"/v2.0/customers/{cart.profile_key}/carts/{cart.pk}")
    assert response.status_code == 401


def test_a_token_does_not_open_the_desk(api: Api) -> None:
    for path in (CARTS, "/admin/"):
        assert api.client.get(path).url.startswith(LOGIN)


def test_an_answer_of_the_api_carries_no_cookie(api: Api) -> None:
    assert not api.get().cookies
