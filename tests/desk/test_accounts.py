import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone
from django.utils.timezone import localtime

from carts.models import Cart
from tests.desk.conftest import (
    ACCOUNTS,
    MINE,
    PASSWORD,
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
        assert "The desk would have no lead. Make another account a lead first." in page.text
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


def test_the_page_of_an_account_says_until_when_it_is_locked_and_unlocks_it(lead: Client) -> None:
    ben, zoe = member("ben", "Cart support"), member("zoe", "Cart support")
    phone, computer = Client(headers={"user-agent": "phone"}), Client()
    lead.cookies["timezone"] = "Asia/Tokyo"
    url = f"{ACCOUNTS}{ben.pk}/change/"

    def shown() -> tuple[str, ...]:
        """Return what the list and the page say, and which buttons the page has."""
        rows = re.findall("<tr>(.*?)</tr>", lead.get(ACCOUNTS).text, re.DOTALL)
        (row,) = (row for row in rows if ">ben<" in row)
        (cell,) = re.findall('class="field-locked">(.*?)<', row)
        page = lead.get(url).text
        (fact,) = re.findall(r'<label>Locked:</label>\s*<div class="readonly">(.*?)<', page)
        return cell, fact, *re.findall("<button[^>]*>(Unlock)<", page)

    # Not of one browser: of a network.
    assert [guess(phone, 2, "ben"), guess(computer, 2, "ben")] == [[200] * 2] * 2
    assert shown() == ("no", "no")
    assert guess(computer, 1, "ben") == [429]
    last = AccessAttempt.objects.latest("attempt_time").attempt_time
    until = localtime(last + settings.AXES_COOLOFF_TIME, ZoneInfo("Asia/Tokyo"))
    locked = f"until {until:%-d %b %Y, %H:%M} JST"
    assert shown() == (locked, locked, "Unlock")
    assert "<button" not in lead.get(f"{ACCOUNTS}{zoe.pk}/change/").text.partition("<main")[2]

    page = lead.get(url).text.partition('class="object-tools"')[2].partition("</ul>")[0]
    (action,) = re.findall('action="(.*?)"', page)
    sent = dict(re.findall('name="(_?[a-z_]+)" value="(.*?)"', page))
    answer = lead.post(action, sent, follow=True)
    assert "Not locked any more: ben." in words(answer.text)
    assert shown() == ("no", "no")
    assert sign_in(phone, name="ben") == 302


def test_a_lock_that_has_ended_is_not_shown(lead: Client) -> None:
    member("ben", "Cart support")
    guess(Client(), name="ben")
    ended = timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1)
    AccessAttempt.objects.update(attempt_time=ended)
    assert "until" not in words(lead.get(ACCOUNTS).text)


def test_the_list_takes_the_same_queries_however_many_are_locked(
    lead: Client, django_assert_max_num_queries: Any
) -> None:
    for name in ("ben", "carl", "dora"):
        member(name, "Cart support")
        guess(Client(), name=name)
    # session, account, two of permissions, first password, two counts, accounts, their groups
    with django_assert_max_num_queries(9):
        assert lead.get(ACCOUNTS).text.count("until ") == 3


def test_the_list_unlocks_several(lead: Client) -> None:
    accounts = [member(name, "Cart support") for name in ("ben", "carl")]
    for account in accounts:
        assert guess(Client(), name=account.username)[-1] == 429
    page = lead.get(ACCOUNTS).text
    assert '<option value="unlock">Unlock</option>' in page
    assert "delete_selected" not in page
    sent = {"action": "unlock", "_selected_action": [account.pk for account in accounts]}
    page = lead.post(ACCOUNTS, sent, follow=True)
    assert "Not locked any more: ben, carl." in words(page.text)
    assert [sign_in(Client(), name=account.username) for account in accounts] == [302] * 2


def test_nobody_unlocks_an_account_that_is_above(lead: Client) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    client = Client()
    guess(client, name="root")
    lead.post(ACCOUNTS, {"action": "unlock", "_selected_action": [root.pk]})
    assert sign_in(client, name="root") == 429
    assert AccessAttempt.objects.get().username == "root"


def test_an_account_without_a_role_has_none(lead: Client) -> None:
    member("newbie")
    listed = re.findall('"field-role">(.*?)<', lead.get(ACCOUNTS).text)
    assert listed == ["Cart support lead", "none"]


def test_what_is_said_of_a_password_fits_the_account(lead: Client) -> None:
    anna, ben = User.objects.get(username="anna"), member("ben", "Cart support")
    off = member("off", "Cart support", password=None)
    User.objects.filter(pk=off.pk).update(is_active=False)
    first = "logs in with it is asked for a password of their own first."
    for account, button, text in (
        (anna, "Set password", "You stay logged in here, and nowhere else."),
        (ben, "Reset password", f"Whoever {first}"),
        (off, "Set password", f"This account is not active. Once it is, whoever {first}"),
    ):
        assert f">{button}</a>" in lead.get(f"{ACCOUNTS}{account.pk}/change/").text
        page = words(lead.get(f"{ACCOUNTS}{account.pk}/password/").text)
        assert text in page
        assert (first in page) == (account != anna)


def test_times_have_their_zone(lead: Client) -> None:
    lead.cookies["timezone"] = "Asia/Tokyo"
    ben, at = member("ben", "Cart support"), datetime(2026, 11, 27, 15, 6, tzinfo=UTC)
    saved(lead, url := f"{ACCOUNTS}{ben.pk}/change/", first_name="Ben")
    User.objects.filter(pk=ben.pk).update(last_login=at)
    LogEntry.objects.update(action_time=at)
    for page in (url, f"{ACCOUNTS}{ben.pk}/history/"):
        assert "28 Nov 2026, 00:06 JST" in words(lead.get(page).text)


@pytest.mark.parametrize("app", ["auth", "carts"])
def test_the_index_of_an_app_is_the_desks(lead: Client, app: str) -> None:
    answer = lead.get(f"/admin/{app}/", follow=True)
    assert answer.redirect_chain[-1] == (MINE, 302)
    newbie = staff(name="newbie")
    assert "has no role yet" in words(newbie.get(f"/admin/{app}/", follow=True).text)


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
