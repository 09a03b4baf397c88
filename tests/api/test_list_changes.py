import random
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from carts.models import Cart, change_feed
from carts.models.manager import CartManager
from carts.models.reads import PageCursor
from carts.records import Closing
from cartsvc.guids import first_key_at
from cartsvc.json_values import rfc3339
from cartsvc.serving import logs
from tests.api.clock import Clock
from tests.support import bodies
from tests.support.answers import assert_refused, errors_of, success
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import new_cart
from tests.support.operations import send
from tests.support.table_contents import Unchanged

CHANGES = "/v2.0/changes"
SETTLING = change_feed.SETTLING_SECONDS


@pytest.fixture(autouse=True)
def _told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell changes before it is sure that none comes before them."""
    monkeypatch.setattr(change_feed, "SETTLING_SECONDS", -1)


@pytest.fixture
def back_end(db: None) -> Api:
    api = Api(scope="Cart.Read Cart.AnyProfile")
    api.base = CHANGES
    return api


def page(api: Api, **query: Any) -> Any:
    """Return the data of a page: its `changes`, and the `next` after."""
    api.base = CHANGES
    response = api.get(f"?{urlencode(query)}")
    assert response.status_code == 200, response.content
    return response.json()["data"]


def listed(api: Api, after: str = "0", **query: Any) -> list[Any]:
    """Return all that has changed after a cursor, read page by page."""
    changes, following = list[Any](), ""
    while after != following:
        after = following or after
        data = page(api, after=after, **query)
        changes += data["changes"]
        following = data["next"]
    return changes


def steps(changes: list[Any]) -> list[tuple[Any, ...]]:
    return [(one["cartId"], one["version"], one["operation"], one["status"]) for one in changes]


def test_tells_each_change_of_each_customer(back_end: Api) -> None:
    api, stranger = Api(), Api(STRANGER)
    cart, other = created(api), created(stranger, bodies.bare_cart(partnerKey="OTHR"))
    api.patch(f"/{cart}", {"note": "x"})
    stranger.delete(f"/{other}")

    response = back_end.get("?after=0")

    summary, [deleted] = shown(api, cart), change_feed.DeletedCart.objects.all()
    whose = {"partnerKey": "ACME", "restaurantKey": summary["restaurantKey"]}
    whose |= {"status": "open", "closedUntil": None}
    mine = {"cartId": cart, "profileKey": str(PROFILE), **whose}
    theirs = {"cartId": other, "profileKey": str(STRANGER), **whose, "partnerKey": "OTHR"}
    expected = [
        {**mine, "version": 1, "operation": "Create Cart", "at": summary["createdOn"]},
        {**mine, "version": 2, "operation": "Change Cart", "at": summary["modifiedOn"]},
        {
            **theirs,
            "version": None,
            "operation": "Delete Cart",
            "at": f"{deleted.deleted_on:%Y-%m-%dT%H:%M:%S.%f}Z",
        },
    ]
    following = response.json()["data"]["next"]
    data = {"changes": expected, "next": following}
    assert response.json() == success("The changes were found.", data)
    assert list(response.json()["data"]["changes"][0]) == [
        *("cartId", "profileKey", "partnerKey", "restaurantKey"),
        *("version", "operation", "at", "status", "closedUntil"),
    ]
    assert page(back_end, after=following) == {"changes": [], "next": following}
    assert back_end.request("HEAD", f"?after={following}").status_code == 200


def test_begins_now(back_end: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    cart = created(Api())
    data = page(back_end)
    later = timezone.now() + timedelta(seconds=2)
    Cart.objects.dated(later).change_cart(UUID(cart), {"note": "x"})
    monkeypatch.setattr(change_feed, "SETTLING_SECONDS", -9)

    assert data["changes"] == []
    assert steps(listed(back_end, data["next"])) == [(cart, 2, "Change Cart", "open")]


def test_the_status_is_what_the_change_has_set(api: Api, back_end: Api) -> None:
    cart = created(api)
    checkout = {"outcome": "checkout", "reference": "payment-1"}
    closer = Api(scope="Cart.Close Cart.AnyProfile")
    until = []
    for body in (checkout, {**checkout, "seconds": 60}, {**checkout, "outcome": "ordered"}):
        assert closer.post(f"/{cart}/close", body).status_code == 200
        until.append(shown(api, cart)["closedUntil"])
    ordered_again = {**checkout, "outcome": "ordered", "orderReference": "A-1"}
    closer.post(f"/{cart}/close", ordered_again)
    closer.post(f"/{cart}/reopen")
    closer.post(f"/{cart}/close", {"outcome": "abandoned"})

    found = [(one["operation"], one["status"], one["closedUntil"]) for one in listed(back_end)]

    first, second, _ = until
    assert first > second
    assert found == [
        ("Create Cart", "open", None),
        ("Close Cart", "checkout", first),
        ("Close Cart", "checkout", second),
        ("Close Cart", "ordered", None),
        ("Close Cart", "ordered", None),
        ("Reopen Cart", "open", None),
        ("Close Cart", "abandoned", None),
    ]


def test_a_checkout_that_runs_out_is_no_change(api: Api, back_end: Api) -> None:
    """Nor is one that begins anew and ends when it would have ended."""
    cart, now = UUID(created(api)), timezone.now()
    begun = now - timedelta(seconds=500)
    for seconds, moment in ((300, begun), (200, begun + timedelta(seconds=100))):
        closing = Closing(outcome="checkout", reference="payment-1", seconds=seconds)
        Cart.objects.dated(moment).close_cart(cart, closing)

    assert shown(api, str(cart))["status"] == "open"
    [*_, last] = changes = listed(back_end)
    assert steps(changes) == [
        (str(cart), 1, "Create Cart", "open"),
        (str(cart), 2, "Close Cart", "checkout"),
    ]
    assert last["closedUntil"] == rfc3339(begun + timedelta(seconds=300))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_of_any_size_hold_every_change_once(back_end: Api, limit: int) -> None:
    """From each cursor on, and of many that happen at the same moment, too.

    Creations are in order of milliseconds, the others of microseconds.
    """
    first = timezone.now().replace(microsecond=500_000) - timedelta(seconds=60)
    chance = random.Random(limit)
    for milliseconds in (0, 0, 0, 1, 1, 2):
        moment = first + timedelta(milliseconds=milliseconds)
        low = chance.choice([1, 2**40, 2**61 - 1]) + chance.randrange(1000)
        key = UUID(int=first_key_at(moment).int + (7 << 76) + (2 << 62) + low)
        carts = Cart.objects.dated(moment)
        carts.create_cart(key, uuid4(), new_cart())
        for microseconds in sorted(chance.choices([0, 1, 999, 1000, 1001, 2000], k=4)):
            then = Cart.objects.dated(first + timedelta(microseconds=microseconds))
            then.change_cart(key, {"note": str(chance.random())})
        if chance.random() < 0.4:
            then.delete_cart(key)
    everything = listed(back_end)

    history = Cart.objects.count() + change_feed.CartChange.objects.count()
    assert len(everything) == history + change_feed.DeletedCart.objects.count()
    assert [one["at"] for one in everything] == sorted(one["at"] for one in everything)
    for cart_id in {one["cartId"] for one in everything}:
        versions = [one["version"] or 99 for one in everything if one["cartId"] == cart_id]
        assert versions in ([*range(1, len(versions) + 1)], [99])
    after = "0"
    for number in range(len(everything)):
        assert listed(back_end, after, limit=limit) == everything[number:]
        after = page(back_end, after=after, limit=1)["next"]


def test_a_page_that_ends_within_a_millisecond_loses_no_creation(
    back_end: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a creation, only the millisecond is known: it may still be to come."""
    first = timezone.now().replace(microsecond=500_000) - timedelta(seconds=60)

    def dated(microseconds: int) -> CartManager:
        return Cart.objects.dated(first + timedelta(microseconds=microseconds))

    keys = [UUID(int=first_key_at(first).int - (n << 80) + (7 << 76) + (2 << 62)) for n in (9, 0)]
    for key, microseconds in zip(keys, (-9_000, 400), strict=True):
        dated(microseconds).create_cart(key, uuid4(), new_cart())
    dated(300).change_cart(keys[0], {"note": "x"})
    told, after = list[Any](), "0"
    for microseconds in range(0, 3_000, 100):
        end = first + timedelta(microseconds=microseconds, seconds=change_feed.SETTLING_SECONDS)
        monkeypatch.setattr(connections["default"], "oldest_write", lambda end=end: end)
        data = page(back_end, after=after)
        told, after = told + data["changes"], data["next"]
    assert [(one["cartId"], one["version"]) for one in told] == [
        (str(keys[0]), 1),
        (str(keys[1]), 1),
        (str(keys[0]), 2),
    ]


def test_tells_a_token_of_its_own_partner(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [created(api, bodies.bare_cart(partnerKey=key)) for key in ("OTHR", "ACME") * 3][1::2]
    deleted = ours.pop()
    theirs = created(Api(STRANGER))
    # A creation is listed at the beginning of its millisecond, so it comes before this.
    send(api, "Delete Cart", deleted)
    partner = Api(scope="Cart.Read Cart.AnyProfile", partnerKey="ACME")
    customer = Api(scope="Cart.Read Cart.AnyProfile", profileKey=str(STRANGER))

    for looked_through in (100, 2, 1):
        monkeypatch.setattr(change_feed, "LOOKED_THROUGH", looked_through)
        for limit in (1, 100):
            found = listed(partner, limit=limit)
            assert [one["cartId"] for one in found] == [*ours, theirs, deleted]
            assert [one["cartId"] for one in listed(customer, limit=limit)] == [theirs]


@pytest.mark.parametrize("limit", [{}, {"limit": 1}])
def test_no_page_looks_through_more_than_100(
    api: Api, back_end: Api, limit: dict[str, int]
) -> None:
    others, moment = UUID(created(api, bodies.bare_cart(partnerKey="OTHR"))), timezone.now()
    for number in range(99):
        Cart.objects.dated(moment).change_cart(others, {"note": str(number)})
    ours = created(api)
    partner = Api(scope="Cart.Read Cart.AnyProfile", partnerKey="ACME")

    first = page(partner, after="0", **limit)
    assert first["changes"] == []
    found = page(partner, after=first["next"], **limit)["changes"]
    assert [one["cartId"] for one in found] == [ours]
    assert len(page(back_end, after="0")["changes"]) == 100


@pytest.mark.parametrize(
    ("scope", "missing"),
    [
        ("Cart.Read", ["Cart.AnyProfile"]),
        ("Cart.Write Cart.Close Cart.AnyProfile", ["Cart.Read"]),
        ("Cart.Write", ["Cart.Read", "Cart.AnyProfile"]),
        ("", ["Cart.Read", "Cart.AnyProfile"]),
    ],
)
def test_takes_both_scopes(db: None, unchanged: Unchanged, scope: str, missing: list[str]) -> None:
    api = Api(scope=scope, profileKey=str(PROFILE))
    api.base = CHANGES

    response = api.get()

    text = f"The token must carry {' and '.join(missing)}."
    assert_refused(response, 403, "insufficient_scope", text, scopes=missing)
    assert response["WWW-Authenticate"].endswith(f', scope="{" ".join(missing)}"')


AFTER = "after must be 0 or a next of List Changes, and not ahead of the clock: begin again with 0."
LIMIT = "limit must be 1 to 100."
KEY = STRANGER.hex


@pytest.mark.parametrize(
    ("query", "text"),
    [
        *((f"after={after}", AFTER) for after in ("", "x", "00", "-1", "1", str(STRANGER))),
        *((f"after=1.{after}", AFTER) for after in (KEY, f"{KEY}.", f"{KEY}.-1", f"{KEY}.1%0A")),
        (f"after={'9' * 17}.{KEY}.1", AFTER),
        (f"after=1.{KEY}.{'9' * 19}", AFTER),
        (f"after={'9' * 16}.{KEY}.1", AFTER),
        *((f"limit={limit}", LIMIT) for limit in ("", "0", "101", "-1", "x", "1.0", "%D9%A1")),
        ("after=0&after=0", "after must be sent once."),
        ("limit=1&limit=1", "limit must be sent once."),
    ],
)
def test_refuses_a_wrong_parameter(
    back_end: Api, unchanged: Unchanged, query: str, text: str
) -> None:
    name = query.partition("=")[0]
    assert_refused(back_end.get(f"?{query}"), 400, "invalid_parameter", text, name)


def test_tells_all_that_is_wrong(back_end: Api) -> None:
    response = back_end.get("?after=x&limit=0&since=0")
    wrong = [("invalid_parameter", name) for name in ("after", "limit")]
    assert errors_of(response) == [("unknown_parameter", "since"), *wrong]


def test_cursors_of_any_size_are_read(back_end: Api) -> None:
    for key in (UUID(int=0), UUID(int=2**128 - 1)):
        for version in ("0", "9" * 18):
            cursor = f"0.{key.hex}.{version}"
            assert page(back_end, after=cursor) == {"changes": [], "next": cursor}


def test_a_clock_that_was_set_back_is_told(
    back_end: Api,
    unchanged: Unchanged,
    monkeypatch: pytest.MonkeyPatch,
    caplog: Any,
    clock: Clock,
) -> None:
    """A clock may differ by CLOCK_SECONDS from the one by which a `next` was made."""
    now = timezone.now()
    monkeypatch.setattr(logs, "_warned_at", {})
    seen = {ahead: PageCursor(now + timedelta(seconds=ahead), STRANGER) for ahead in (2, 3, 40)}

    monkeypatch.setattr(timezone, "now", lambda: now)
    for ahead in (2, 3, 40, 3):
        response = back_end.get(f"?after={seen[ahead]}")
        if ahead == 2:
            assert response.json()["data"] == {"changes": [], "next": str(seen[ahead])}
        else:
            assert_refused(response, 400, "invalid_parameter", AFTER, "after")
    clock.now += logs.LOG_SECONDS
    back_end.get(f"?after={seen[40]}")

    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warnings == ["A cursor of List Changes is none, or ahead of the clock."] * 2


def test_the_page_says_after_how_long() -> None:
    page = (Path(settings.BASE_DIR) / "carts/README.md").read_text()
    assert f"a change is listed {SETTLING} seconds after" in page
    assert f"differ, or be set back, by {change_feed.CLOCK_SECONDS} of them" in page
