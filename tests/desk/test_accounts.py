import re
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client

from carts.apps import GROUPS
from carts.models import Cart
from tests.desk.conftest import (
    ACCOUNTS,
    PASSWORD,
    correct_page,
    delete_page,
    guess,
    marked,
    member,
    page_of,
    sign_in,
    staff,
    words,
)
from tests.support.table_contents import Unchanged

pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.mark.django_db(transaction=True)
def test_the_groups_are_there_after_a_flush() -> None:
    Group.objects.all().delete()
    call_command("flush", "--noinput", stdout=StringIO())
    assert sorted(Group.objects.values_list("name", flat=True)) == sorted(GROUPS)


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
        assert (client.post(page, {"version": "1"}).status_code == 403) != allowed
    assert ("Accounts</a>" in text) == (client.get(ACCOUNTS).status_code == 200)


def test_the_accounts_read_like_the_rest_of_the_desk(lead: Client) -> None:
    text = lead.get(ACCOUNTS).text
    assert "<title>Accounts · Support desk</title>" in text
    assert "<h1>Accounts</h1>" in text


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


def test_a_lead_frees_a_locked_name(lead: Client) -> None:
    ben = member("ben", "Cart support")
    client = Client()
    assert guess(client, name="ben")[-1] == 429
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


def test_an_account_is_not_deleted(db: None) -> None:
    """Its entries in the log of staff would go with it."""
    anna, root = member("anna", "Cart support"), Client()
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
    warnings = [
        marked(str(message)) for message in page.context["messages"] if message.tags == "warning"
    ]
    assert warnings == (
        [f"Account “[ben]” cannot use the desk yet. It still needs {told}"] if told else []
    )
