"""Staff activity: who did what, when and why, by agent and day."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import chain
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from carts.admin import activity
from carts.models import Cart, StaffEntry
from tests.desk.conftest import (
    ACCOUNTS,
    CARTS,
    delete_page,
    form_of,
    item_page,
    log_entry,
    marked,
    member,
    note_page,
    page_of,
    staff,
    words,
)
from tests.desk.test_channels import CHANNELS, form_in, sent
from tests.support.factories import CartFactory

ACTIVITY = f"{CARTS}activity/"
LEAD = "Cart support lead"
NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


def shown(client: Client, **query: str) -> list[str]:
    return entries_of(client.get(ACTIVITY, query))


def entries_of(page: Any) -> list[str]:
    return [entry.change_message for action in page.context["actions"] for entry in action]


@pytest.fixture
def log(cart: Cart, lead: Client) -> None:
    """Log two entries of two agents on each of ten days, the second at 23:00."""
    users = [User.objects.get(username="anna"), User.objects.create_user("cleo", is_staff=True)]
    for day in range(10):
        for user, hours in zip(users, (0, 11), strict=True):
            entry = log_entry(cart, user, f"{user} {day}")
            at = NOON + timedelta(days=day, hours=hours)
            LogEntry.objects.filter(pk=entry.pk).update(action_time=at)


def test_it_tells_who_did_what_when_and_why_and_leads_there(lead: Client, cart: Cart) -> None:
    url = item_page(cart)
    lead.post(url, form_of(lead, url) | {"quantity": "7", "why": "She called"})
    page = lead.get(ACTIVITY)
    told = "Item “Pizza Margherita”: quantity 2 → 7. Why: “She called”"
    assert told in words(page.text)
    assert "· anna" in words(page.text)
    event = f"{page_of(cart)}?before=3#version-2"
    assert f'href="{event}">Cart <span class="key">{cart.pk}</span></a>' in page.text
    assert 'id="version-2"' in lead.get(event).text
    # Staff's part of the history leads there as well.
    assert f'href="{event}"' in lead.get(f"{page_of(cart)}?staff").text

    lead.post(delete_page(cart), {"version": "2", "why": "A test order"})
    newest = f'href="{page_of(cart)}">Cart'
    assert newest in lead.get(ACTIVITY).text
    assert lead.get(page_of(cart), follow=True).redirect_chain[-1][0].endswith("/history/")


@pytest.mark.usefixtures("log")
def test_it_is_filtered_by_agent_and_day(lead: Client) -> None:
    assert '<option value="" selected>any</option>' in lead.get(ACTIVITY).text
    assert shown(lead)[:3] == ["cleo 9", "anna 9", "cleo 8"]
    assert shown(lead, agent="anna") == [f"anna {day}" for day in range(9, -1, -1)]
    assert shown(lead, day="2026-03-17") == ["cleo 2", "anna 2"]
    assert shown(lead, day="2026-03-17", agent="cleo") == ["cleo 2"]
    assert shown(lead, day="2026-03-14") == shown(lead, day="2026-03-25") == []
    for day, told in (("2026-03-14", "Nothing was found."), ("2026-03-17", "nothing before this.")):
        assert told in lead.get(ACTIVITY, {"day": day}).text
    # The day is that of the viewer.
    lead.cookies["timezone"] = "Asia/Tokyo"
    assert shown(lead, day="2026-03-17") == ["anna 2", "cleo 1"]


@pytest.mark.usefixtures("log")
def test_it_is_read_in_windows_of_the_key(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "ENTRIES_AT_ONCE", 6)
    monkeypatch.setattr(activity, "ENTRIES_PER_PAGE", 4)
    pages, query = [], {"agent": "anna"}
    while query:
        with CaptureQueriesContext(connection) as asked:
            page = lead.get(ACTIVITY, query)
        for statement in asked:
            sql: Any = statement["sql"]
            assert "django_admin_log" not in sql or ("LIMIT" in sql and "COUNT(" not in sql)
        pages.append(entries_of(page))
        older = page.context["older"]
        assert ("Look further back" in page.text) == bool(older)
        query = {"agent": "anna", "before": str(older)} if older else {}
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert [*chain(*pages)] == [f"anna {day}" for day in range(9, -1, -1)]
    assert len(shown(lead)) == 4


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        *(("day", value, None) for value in ("x", "\0", "2026-02-30", "99999-12-31")),
        ("before", "x", None),
        *(("agent", value, None) for value in ("nobody", "\0")),
        *(("day", value, 0) for value in ("0001-01-01", "9999-12-31")),
        *(("before", value, 0) for value in ("0", "-1", str(-(10**30)))),
        ("before", str(10**30), 20),
    ],
)
def test_a_filter_may_be_beyond_all_entries_or_none(
    lead: Client, name: str, value: str, number: int | None
) -> None:
    page = lead.get(ACTIVITY, {name: value})
    assert ("errorlist" in page.text) == (number is None)
    assert number is None or len(entries_of(page)) == number


def test_each_sees_their_own_and_who_manages_accounts_all(
    lead: Client, viewer: Client, cart: Cart
) -> None:
    agent = staff("Cart support agent", name="cleo")
    for client, name in ((agent, "Your"), (lead, "Staff")):
        url = note_page(cart)
        client.post(url, {"version": "1", "why": f"{name} note"})
        assert f'href="{ACTIVITY}">{name} activity</a>' in client.get(page_of(cart)).text
    assert f'href="{ACTIVITY}"' not in viewer.get(page_of(cart)).text
    assert [*map(marked, shown(agent))] == ["Note: “[Your note]”"]
    assert [*map(marked, shown(agent, agent="anna"))] == ["Note: “[Your note]”"]
    assert 'name="agent"' not in agent.get(ACTIVITY).text
    assert shown(viewer) == []
    assert len(shown(lead)) == 2


def test_what_one_request_did_to_many_carts_is_one_action(lead: Client) -> None:
    carts = [CartFactory(fulfilment_channel="PICKUP") for _ in range(3)]
    lead.post(CHANNELS, form_in(lead.post(CHANNELS, sent(carts, fulfilment_channel="DELIVERY"))))
    note = CartFactory()
    lead.post(note_page(note), {"version": "1", "why": "Called"})
    page = lead.get(ACTIVITY)
    assert [len(action) for action in page.context["actions"]] == [1, 3]
    told = "3 carts, such as: Cart: fulfilment channel “PICKUP” → “DELIVERY”"
    assert told in words(page.text)
    listed = page.text.partition('<details class="action">')[2]
    for cart in carts:
        assert f'href="{page_of(cart)}?before=3#version-2"' in listed


def test_an_action_is_not_split_between_pages(
    lead: Client, cart: Cart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "ENTRIES_PER_PAGE", 4)
    anna = User.objects.get()
    for number in range(6):
        log_entry(cart, anna, f"{number}")
    StaffEntry.objects.filter(log_entry__change_message__in=["1", "2", "3"]).update(request_id="r")
    page = lead.get(ACTIVITY)
    assert [len(action) for action in page.context["actions"]] == [1, 1]
    page = lead.get(ACTIVITY, {"before": page.context["older"]})
    assert [len(action) for action in page.context["actions"]] == [3, 1]


@pytest.mark.usefixtures("log")
def test_today_yesterday_and_each_agent_are_a_click_away(lead: Client) -> None:
    LogEntry.objects.filter(change_message="cleo 9").update(action_time=timezone.now())
    LogEntry.objects.filter(change_message="anna 9").update(
        action_time=timezone.now() - timedelta(days=1)
    )
    page = lead.get(ACTIVITY, {"before": "10000"}).text
    links = {
        text: unescape(url) for url, text in re.findall('class="copy" href="(.+?)">(.+?)<', page)
    }
    for day, told in (("Today", "cleo 9"), ("Yesterday", "anna 9")):
        assert entries_of(lead.get(f"{ACTIVITY}{links[day]}")) == [told]
    assert '<a href="?agent=cleo"><bdi>cleo</bdi></a>' in page
    cleo = lead.get(ACTIVITY, {"agent": "cleo"}).text
    (today,) = re.findall('class="copy" href="(.+?)">Today', cleo)
    assert "agent=cleo" in today


def test_what_was_done_to_an_account_is_told(lead: Client) -> None:
    ben = member("ben", "Cart support")
    sent = {"username": "ben", "is_active": "on", "role": Group.objects.get(name=LEAD).pk}
    lead.post(f"{ACCOUNTS}{ben.pk}/change/", sent)
    page = words(lead.get(ACTIVITY).text)
    assert "Changed: role “Cart support” → “Cart support lead”" in page
    assert "User ben" in page
