"""What a cart remembers of its changes: who, when, what, and what it was since."""

import uuid
from datetime import UTC, datetime

import pytest

from carts.models import Cart
from carts.models.history import KEPT, LABEL_BYTES, NAME_BYTES, Author, Record
from tests.support import bodies
from tests.support.callers import PROFILE, Api
from tests.support.carts import created_with_items
from tests.support.factories import CartFactory, ItemFactory, OptionFactory

TIMES = "\u00d7"


def records() -> list[Record]:
    return Cart.objects.get().records()


def test_every_operation_of_the_api_is_recorded(db: None) -> None:
    before = datetime.now(UTC)
    api = Api(sub="till 7")
    cart_id, [first] = created_with_items(api, "Calzone")
    added = api.post(
        f"/{cart_id}/items",
        bodies.item(displayName="Pizza", options=[bodies.option(displayName="Rucola")] * 2),
        X_Request_ID="request-1",
    ).json()["data"]["itemId"]
    api.put(f"/{cart_id}/items/{first}", bodies.bare_item(displayName="Gelato", quantity=3))
    api.delete(f"/{cart_id}/items/{added}")

    found = records()

    assert [(record.operation, record.item_id, record.label) for record in found] == [
        ("Create Cart", None, ""),
        ("Add Item", uuid.UUID(added), f"2 {TIMES} Pizza (Rucola, Rucola)"),
        ("Update Item", uuid.UUID(first), f"3 {TIMES} Gelato"),
        ("Remove Item", uuid.UUID(added), f"2 {TIMES} Pizza"),
    ]
    assert {(record.author.kind, record.author.name) for record in found} == {("bearer", "till 7")}
    assert found[1].author.request_id == "request-1"
    times = [before, *(record.at for record in found), datetime.now(UTC)]
    assert times == sorted(times)


def test_a_save_in_the_shell_is_recorded_with_all_options(db: None) -> None:
    options = [OptionFactory(display_name="Rucola"), OptionFactory(display_name="Speck")]
    item = CartFactory(items=[ItemFactory(display_name="Pizza", options=options)]).items.get()

    item.quantity = 3
    item.save()
    item.quantity = 9  # and not saved
    rucola, speck = item.options.all()
    rucola.display_name = "Grana"
    rucola.save()
    speck.delete()

    assert [(record.operation, record.item_id, record.label) for record in records()] == [
        ("Create Cart", None, ""),
        ("Update Item", item.pk, f"3 {TIMES} Pizza (Rucola, Speck)"),
        ("Update Item", item.pk, f"3 {TIMES} Pizza (Grana, Speck)"),
        ("Update Item", item.pk, f"3 {TIMES} Pizza (Grana)"),
    ]


def test_a_refused_change_is_not_recorded(api: Api) -> None:
    cart_id, [item_id] = created_with_items(api, "Calzone")

    api.put(f"/{cart_id}/items/{item_id}", bodies.item(currency="USD"))
    api.put(f"/{cart_id}/items/{item_id}", bodies.item(), If_Match='"9"')
    api.delete(f"/{cart_id}/items/{PROFILE}")

    assert [record.operation for record in records()] == ["Create Cart"]


def test_a_read_does_not_show_the_history(api: Api) -> None:
    cart_id, _ = created_with_items(api, "Calzone")

    assert "history" not in api.get(f"/{cart_id}").json()["data"]
    assert "partner-app" not in api.get(f"/{cart_id}").content.decode()


def test_saves_and_deletes_of_the_shell_are_recorded(db: None) -> None:
    cart = CartFactory(items=[ItemFactory(options=[OptionFactory(), OptionFactory()])])
    item = cart.items.get()

    cart.save()
    item.save()
    item.options.all()[0].save()
    item.options.all()[0].delete()

    assert [record.operation for record in records()] == [
        "Create Cart",
        "Update Cart",
        *["Update Item"] * 3,
    ]
    assert {record.author.kind for record in records()} == {"shell"}


def test_a_system_user_without_a_name_may_write(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("carts.models.history.getuser", nobody)
    CartFactory()

    assert records()[0].author == Author("shell", "")


def test_a_system_user_with_an_unreadable_name_may_write(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carts.models.history.getuser", lambda: "ann\udce4")
    CartFactory()

    assert records()[0].author == Author("shell", "ann?")


def test_a_record_is_a_line_as_short_as_can_be() -> None:
    moment = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
    record = Record(moment, Author("bearer", "till 7", "request-1"), "Add Item", PROFILE, "Größe")

    assert record.line() == (
        '["2026-05-04T12:30:00+00:00","bearer","till 7","request-1","Add Item",'
        f'"{PROFILE}","Größe"]\n'
    )


@pytest.mark.parametrize("letter", ["n", "\u00fc", "\U0001f355"], ids=["ASCII", "Latin", "astral"])
def test_long_names_and_labels_are_cut_between_characters(db: None, letter: str) -> None:
    author = Author("staff", letter * 300)
    cart = CartFactory()
    options = [OptionFactory(display_name=letter * 100)] * 3

    Cart.objects.by(author).add_item(cart.pk, ItemFactory(display_name="P", options=options))

    last = records()[-1]
    size = len(letter.encode())
    assert last.author.name == letter * (NAME_BYTES // size)
    whole = f"2 {TIMES} P ({', '.join([letter * 100] * 3)})"
    assert whole.startswith(last.label)
    assert LABEL_BYTES - size < len(last.label.encode()) <= LABEL_BYTES


def test_the_oldest_records_go_but_the_first_stays(db: None) -> None:
    cart = CartFactory()
    line = Record(datetime.now(UTC), Author("bearer", "old \U0001f355\n\u2028"), "x").line()
    Cart.objects.update(history=line * (KEPT // len(line)), version=1_000)
    cart.add_item(**ItemFactory())
    cart.add_item(**ItemFactory())

    history = Cart.objects.get().history

    assert len(history) == KEPT
    first, *found = records()
    assert (first.operation, first.version) == ("Create Cart", 1)
    assert [record.operation for record in found[-2:]] == ["Add Item", "Add Item"]
    assert {record.operation for record in found[:-2]} == {"x"}
    assert [record.version for record in found] == list(range(1_003 - len(found), 1_003))
    assert KEPT // len(line) - 5 <= len(found) <= KEPT // len(line)


def test_a_dozen_changes_are_kept_whatever_the_script(api: Api) -> None:
    """Astral characters were escaped to twelve each."""
    name = "\U0001f355" * 100
    cart_id, [item_id] = created_with_items(api, name)
    for _ in range(12):
        api.put(f"/{cart_id}/items/{item_id}", bodies.item(displayName=name))

    assert records()[0].version == 1
    assert len(records()) >= 10
