import re
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.desk.conftest import CARTS, staff
from tests.support.callers import Api
from tests.support.factories import CartFactory

LOGIN = "/admin/login/"
PASSWORD = "correct horse battery"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture
def anna(db: None) -> User:
    user = User.objects.create_user("anna", password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name="Cart support"))
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


def test_a_member_of_staff_signs_in(anna: User) -> None:
    client = Client()
    assert "Cart service · Support desk" in client.get(LOGIN).text
    assert sign_in(client) == 302
    assert client.get(CARTS).status_code == 200


def test_five_failures_lock_the_account(anna: User) -> None:
    client = Client()
    assert [sign_in(client, "wrong") for _ in range(5)] == [200] * 4 + [429]
    assert sign_in(client) == 429
    assert sign_in(Client(REMOTE_ADDR="203.0.113.9")) == 429
    assert client.get(CARTS).status_code == 302
    assert (
        "Too many failed attempts" in client.post(LOGIN, {"username": "anna", "password": "x"}).text
    )


def test_a_lock_ends_and_locks_nobody_else(anna: User) -> None:
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)
    client = Client()
    for _ in range(5):
        sign_in(client, "wrong")
    assert sign_in(Client(), name="ben") == 302
    attempts = apps.get_model("axes", "AccessAttempt").objects
    attempts.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1))
    assert sign_in(client) == 302


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
