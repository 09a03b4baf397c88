"""Which role may open which page of the desk, and send its form: all pages, all methods."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from carts.models import Cart
from carts.models.cart_change import Author
from carts.roles import ROLES
from tests.desk.conftest import (
    ACCOUNTS,
    LOGIN,
    correct_page,
    delete_page,
    items,
    member,
    page_of,
    staff,
)
from tests.support.table_contents import Unchanged

# From one to the next, each may do more.
LEVELS = ["no role", *ROLES, "superuser"]
ANY, VIEWER, AGENT, LEAD, ROOT, NOBODY = range(6)


class Page(NamedTuple):
    """Who may open a page and send its form, and what its address needs."""

    role: int
    args: tuple[str, ...] = ()


# The least role that may do what the page is for.
PAGES = {
    "index": Page(ANY),
    "password_change": Page(ANY),
    "password_change_done": Page(ANY),
    "jsi18n": Page(ANY),
    "carts_cart_changelist": Page(VIEWER),
    "carts_mine": Page(VIEWER),
    "carts_activity": Page(VIEWER),
    "carts_cart_change": Page(VIEWER, ("cart",)),
    "carts_cart_history": Page(VIEWER, ("cart",)),
    "carts_channels": Page(AGENT),
    "carts_put_back_many": Page(AGENT),
    "carts_reopen_many": Page(AGENT),
    "carts_cart_correct": Page(AGENT, ("cart",)),
    "carts_cart_note": Page(AGENT, ("cart",)),
    "carts_item_put_back": Page(AGENT, ("cart", "version")),
    "carts_cart_abandon": Page(AGENT, ("cart",)),
    "carts_cart_reopen": Page(AGENT, ("cart",)),
    "carts_item_add": Page(AGENT, ("cart",)),
    "carts_item_change": Page(AGENT, ("cart", "item")),
    "carts_item_remove": Page(AGENT, ("cart", "item")),
    "carts_cart_delete": Page(LEAD, ("cart",)),
    "carts_cart_add": Page(NOBODY),
    "auth_user_changelist": Page(LEAD),
    "auth_user_add": Page(LEAD),
    "auth_user_change": Page(LEAD, ("account",)),
    "auth_user_history": Page(LEAD, ("account",)),
    "auth_user_password_change": Page(LEAD, ("account",)),
    "auth_user_delete": Page(NOBODY, ("account",)),
    "auth_group_changelist": Page(ROOT),
    "auth_group_add": Page(ROOT),
    "auth_group_change": Page(ROOT, ("group",)),
    "auth_group_history": Page(ROOT, ("group",)),
    "auth_group_delete": Page(ROOT, ("group",)),
    "logout": Page(ANY),  # the last, because it ends the session
}

# These show nothing of their own: they lead to a page above, or are not found.
WAYS = {"login", "autocomplete", "view_on_site", "app_list", None}


def names(resolver: Any) -> Iterator[str | None]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from names(one)
        elif isinstance(one, URLPattern):
            yield one.name


@pytest.fixture
def address(cart: Cart) -> Any:
    """Return the address of a page, about a cart with a change, an account and a group."""
    Cart.objects.by(Author("bearer", "app")).change_cart(cart.pk, {"note": "Ring"})
    account, group = member("ben", "Cart support"), Group.objects.get(name="Cart support")
    item: UUID = items(cart)[0]["item_id"]
    known = {"cart": cart.pk, "version": 2, "item": item, "account": account.pk, "group": group.pk}
    return lambda name: reverse(f"admin:{name}", args=[known[arg] for arg in PAGES[name].args])


@pytest.fixture
def users(db: None) -> list[User]:
    groups = [[], *([name] for name in ROLES)]
    users = [member(f"role-{level}", *names) for level, names in enumerate(groups)]
    return [*users, User.objects.create_superuser("root")]


def accounts() -> list[Any]:
    return [*User.objects.order_by("pk").values("pk", "password", "is_active", "groups")]


def test_every_page_of_the_desk_is_in_the_table() -> None:
    (desk,) = [one for one in get_resolver().url_patterns if getattr(one, "namespace", "")]
    assert {*names(desk)} == PAGES.keys() | WAYS


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=LEVELS)
def test_each_role_opens_its_pages_and_no_other(
    address: Any, users: list[User], unchanged: Unchanged, level: int
) -> None:
    """What one may, only POST does. No other method does what a superuser may."""
    before, version = accounts(), Cart.objects.get().version
    client = Client()
    client.force_login(users[level])
    for name, page in PAGES.items():
        url = address(name)
        for method in ("get", "post", *(("put", "patch", "delete") if level == ROOT else ())):
            with transaction.atomic():
                response: Any = getattr(client, method)(url)
                told = f"{method} {url}: {response.status_code}"
                if level >= page.role:
                    assert response.status_code in {200, 302, 405, 409}, told
                else:
                    assert response.status_code == 403, told
                if method != "post":
                    assert (Cart.objects.get().version, accounts()) == (version, before), told
                transaction.set_rollback(level >= page.role and method == "post")
    assert accounts() == before


def test_a_stranger_is_led_to_the_login_by_each_page(address: Any, unchanged: Unchanged) -> None:
    for name in PAGES.keys() - {"jsi18n"}:
        for method in ("get", "post"):
            response = getattr(Client(), method)(address(name))
            assert response.status_code == 302, (method, name)
            assert response.url.startswith(LOGIN) or name == "logout", (method, name)


def test_the_groups_may_do_nothing_with_another_application(db: None) -> None:
    """Though its permission has the same name."""
    Group.objects.all().delete()
    theirs = ContentType.objects.create(app_label="elsewhere", model="cart")
    Permission.objects.create(codename="view_cart", content_type=theirs)
    call_command("migrate", verbosity=0)
    assert sorted(Group.objects.values_list("name", flat=True)) == sorted(ROLES)
    assert not Group.objects.filter(permissions__content_type=theirs).exists()


@pytest.mark.parametrize("level", [VIEWER, AGENT, LEAD], ids=LEVELS.__getitem__)
def test_each_role_is_led_to_its_pages_and_no_other(cart: Cart, level: int) -> None:
    text = staff(LEVELS[level], name="carl").get(page_of(cart)).text
    for page, least in ((correct_page(cart), AGENT), (delete_page(cart), LEAD), (ACCOUNTS, LEAD)):
        assert (f'href="{page}"' in text) == (level >= least)
