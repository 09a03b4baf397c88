import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from carts.models import Cart
from tests.desk.conftest import (
    ACCOUNTS,
    add_account,
    guess,
    marked,
    member,
    page_of,
    role,
    sign_in,
    staff,
    words,
)
from tests.support.table_contents import Unchanged

ROLE_CHANGED = "role “[Cart support]” → “[Cart support agent]”"

pytestmark = pytest.mark.usefixtures("cheap_passwords")


def test_the_accounts_read_like_the_rest_of_the_desk(lead: Client) -> None:
    text = lead.get(ACCOUNTS).text
    assert "<title>Users · Support desk</title>" in text
    assert "<h1>Users</h1>" in text
    for other in ("Groups</a>", "changelist-filter", "searchbar"):
        assert other not in text


def test_django_pages_lead_back_in_the_words_of_the_desk(admin_client: Client) -> None:
    account = f"{ACCOUNTS}{member('ben').pk}/"
    for page in (f"{account}history/", f"{account}password/", "/admin/password_change/"):
        trail = words(admin_client.get(page).text.partition('class="breadcrumbs"')[2])
        assert trail.startswith(">Carts › "), page
    assert 'href="/admin/auth/group/">Groups</a>' in admin_client.get(ACCOUNTS).text


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

    agent = Group.objects.get(name="Cart support agent")
    page = add_account(lead, "carl", role=other.pk, is_superuser="on")
    assert "not one of the available choices" in page.text
    add_account(lead, "carl", role=agent.pk, is_superuser="on")
    carl = User.objects.get(username="carl")
    assert re.search("carl.*Cart support agent", words(lead.get(ACCOUNTS).text))
    forged = {"is_superuser": "on", "is_staff": "", "user_permissions": ["1"], "groups": [other.pk]}
    url = account_of(lead, carl)
    page = saved(lead, url, **forged, role=other.pk)
    assert "not one of the available choices" in page.text
    saved(lead, url, **forged, first_name="Carl")
    carl.refresh_from_db()
    assert (carl.first_name, carl.is_superuser, carl.is_staff, carl.groups.get()) == (
        *("Carl", False, True),
        agent,
    )
    assert not carl.user_permissions.exists()


def test_an_account_has_one_role_and_nothing_else_to_set(lead: Client, viewer: Client) -> None:
    for path in ("add/", f"{User.objects.get(username='ben').pk}/change/"):
        page = lead.get(f"{ACCOUNTS}{path}").text
        radios = re.findall('<input type="radio" name="role".*?>(.*?)</label>', page, re.DOTALL)
        assert [words(radio) for radio in radios] == [
            "Cart support: sees carts, and changes nothing",
            "Cart support agent: changes carts and their items, and puts back what was changed",
            "Cart support lead: does all of this, deletes carts and manages accounts",
        ]
        for other in ("algorithm", "hash", "salt", "usable", "is_staff", "user_permissions"):
            assert other not in page.partition("<body")[2], other


def test_an_account_without_a_role_is_not_made(lead: Client, unchanged: Unchanged) -> None:
    page = add_account(lead, "carl")
    assert "Choose a role." in page.text
    assert not User.objects.filter(username="carl").exists()


@pytest.mark.parametrize(
    "changes", [{"is_active": ""}, {"role": "Cart support agent"}], ids=["switched-off", "demoted"]
)
def test_the_last_lead_stays_one(lead: Client, changes: dict[str, str]) -> None:
    if "role" in changes:
        changes = {"role": str(role(changes["role"]))}
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    anna = User.objects.get(username="anna")
    url = f"{ACCOUNTS}{anna.pk}/change/"
    for client in (lead, root):
        page = saved(client, url, **changes, first_name="Anna")
        assert "This is the last lead. Make another account a lead first." in page.text
        anna.refresh_from_db()
        assert (anna.is_active, anna.first_name) == (True, "")
        assert anna.has_perm("auth.change_user")
        assert not LogEntry.objects.exists()
    # Of two leads, one may go, and that is oneself as well.
    other = member("zoe", "Cart support lead")
    saved(lead, url, **changes)
    assert not User.objects.get(pk=anna.pk).has_perm("auth.change_user")
    saved(root, f"{ACCOUNTS}{other.pk}/change/", **changes)
    assert User.objects.get(pk=other.pk).has_perm("auth.change_user")


def test_the_log_says_what_came_and_went(lead: Client) -> None:
    add_account(lead, "carl", role=role("Cart support"))
    carl = User.objects.get(username="carl")
    changes = {"role": role("Cart support agent"), "first_name": "Carl", "is_active": ""}
    saved(lead, f"{ACCOUNTS}{carl.pk}/change/", **changes)
    url = f"{ACCOUNTS}{carl.pk}/password/"
    lead.post(url, dict.fromkeys(("password1", "password2"), "another horse battery"))
    told = [marked(entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]
    changed = ("first name nothing → “[Carl]”", ROLE_CHANGED, "active yes → no")
    assert told == [
        "Added: username nothing → “[carl]”; role nothing → “[Cart support]”",
        f"Changed: {'; '.join(changed)}",
        "Password changed",
    ]
    assert marked(ROLE_CHANGED) in marked(lead.get(f"{ACCOUNTS}{carl.pk}/history/").text)


def test_who_may_not_log_in_shows_as_not_active(lead: Client) -> None:
    ben = member("ben", "Cart support")
    User.objects.filter(pk=ben.pk).update(is_staff=False)
    url = f"{ACCOUNTS}{ben.pk}/change/"
    assert not lead.get(url).context["adminform"].form["is_active"].value()
    saved(lead, url, is_active="on")
    assert sign_in(Client(), name="ben") == 302


def test_a_lead_frees_a_locked_name(lead: Client) -> None:
    ben = member("ben", "Cart support")
    client = Client()
    assert guess(client, name="ben")[-1] == 429
    sent = {"action": "free_names", "_selected_action": [ben.pk]}
    page = lead.post(ACCOUNTS, sent, follow=True)
    assert "These names may log in again: ben." in words(page.text)
    assert sign_in(client, name="ben") == 302
    assert "delete_selected" not in page.text


def test_a_lead_has_the_same_links_on_every_page(lead: Client, cart: Cart) -> None:
    for path in (page_of(cart), ACCOUNTS, "/admin/password_change/"):
        page = lead.get(path).text
        assert page.count(f'<a href="{ACCOUNTS}">Users</a> /') == 1, path


def test_who_has_no_role_reads_whom_to_ask(db: None) -> None:
    page = words(staff(name="newbie").get("/admin/", follow=True).text)
    assert "Your account has no role yet. Ask a lead or an administrator" in page


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
    action = {"action": "delete_selected", "_selected_action": [anna.pk], "post": "yes"}
    root.post(ACCOUNTS, action)
    assert User.objects.filter(pk=anna.pk).exists()
