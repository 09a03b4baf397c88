"""What every form of the desk does: it takes a reason, and it changes the cart that it shows."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils.html import escape
from uuid_utils.compat import uuid7

from carts.admin import base_view as pages
from carts.models import Cart
from carts.models.change import Author
from carts.templatetags import desk
from carts.values import Item, Option
from tests.desk.conftest import (
    add_page,
    correct_page,
    delete_page,
    form_of,
    gone_page,
    item_page,
    items,
    page_of,
    put_back_page,
    remove_page,
    when,
    words,
)
from tests.support.concurrency import held
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.stored import Unchanged

AGAIN, BACK = "Saving it now replaces the above;", "puts it back all the same;"

# The page of each form, what is typed as the page shows it again, and how the page asks again, if
# what it is about has changed meanwhile, with which button.
FORMS = {
    "item": (item_page, 'value="3"', AGAIN, "Replace it with this"),
    "add": (add_page, 'value="3"', "adds the item to the cart as it is now;", "Save"),
    "remove": (remove_page, "", "removes the item as it is now;", "Remove the item"),
    "put back": (put_back_page, "", BACK, "Put it back"),
    "bring back": (partial(put_back_page, version=3), "", BACK, "Put it back"),
    "correct": (correct_page, "Thanks</textarea>", AGAIN, "Replace it with this"),
    "delete": (delete_page, "", "deletes the cart as it is now;", "Delete the cart"),
}


def tap(carts: Any, cart: Cart) -> None:
    """Change the first item, as every tap of a customer in the app does."""
    carts.change_item(cart.pk, items(cart)[0]["item_id"], {"quantity": 8})


def write_note(carts: Any, cart: Cart) -> None:
    carts.change_cart(cart.pk, {"note": "Ring"})


def bring_back(carts: Any, cart: Cart) -> None:
    carts.add_item(cart.pk, cart.changes.get(version=3).item_id, Item(**ItemFactory()))


# What changes the very thing that the form is about, and the words of it; what changes others.
SAME = {
    "bring back": (bring_back, "Add Item", (tap, write_note)),
    "correct": (write_note, "nothing → “<bdi>Ring</bdi>”", (tap, bring_back)),
    "delete": (tap, "quantity 9 → 8", ()),
    "add": (None, "", (tap, write_note, bring_back)),
}
CLASHES: dict[str, Any] = {
    name: SAME.get(name, (tap, "quantity 9 → 8", (write_note, bring_back))) for name in FORMS
}


class Form(NamedTuple):
    url: str
    # What changes something, whichever form it is sent from.
    sent: dict[str, Any]
    typed: str
    question: str
    button: str

    def back(self, cart: Cart) -> str:
        """Return what the history says of a put-back before the reason given, or else nothing."""
        _, before, version = self.url.rstrip("/").partition("/before/")
        return before and f"Put back as before {when(cart, int(version))}"

    def post(self, client: Client, **changes: str) -> Any:
        return client.post(self.url, self.sent | changes)


@pytest.fixture
def cart(db: None) -> Any:
    cart = CartFactory(items=[ItemFactory(), ItemFactory()])
    first, second = cart.items.all()
    first.change(quantity=9)
    second.remove()
    return cart


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, lead: Client, cart: Cart) -> Form:
    page, *told = FORMS[request.param]
    sent = form_of(lead, item_page(cart)) | form_of(lead, correct_page(cart))
    return Form(page(cart), sent | {"quantity": "3", "note": "Thanks", "why": "Asked"}, *told)


@pytest.mark.parametrize("why", ["<i>" + "\U0001f355" * 197, ""], ids=["given", "left out"])
def test_every_form_takes_a_reason(lead: Client, cart: Cart, form: Form, why: str) -> None:
    if form.url == delete_page(cart):
        assert "Why (for staff only)" in lead.get(form.url).text
        assert form.post(lead, why=f" {why} ").status_code == (302 if why else 200)
        assert Cart.objects.exists() == (not why)
        assert [f" Why: “{why}”" in entry.change_message for entry in LogEntry.objects.all()] == (
            [True] if why else []
        )
        return
    assert "Why (optional, for staff only)" in lead.get(form.url).text
    assert form.post(lead, why=f" {why} ").status_code == 302
    told = ": ".join(filter(None, [form.back(cart), why]))[:200]
    assert cart.changes.last().why == (told or None)
    page = lead.get(page_of(cart)).text
    assert (f"Why: <bdi>{escape(told)}</bdi>" in page) if told else ("Why:" not in page)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("x" * 201, "must not be longer than 200 characters; it has 201."),
        ("a\nb", "U+000A: a control character"),
        ("a\x1bb", "U+001B: a control character"),
    ],
)
def test_a_reason_that_is_no_short_line_is_refused(
    lead: Client, form: Form, unchanged: Unchanged, why: str, reason: str
) -> None:
    unchanged()
    response = form.post(lead, why=why)
    assert response.status_code == 200
    assert reason in response.text


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, changes: list[Callable[..., None]], cart: Cart, *, late: bool
) -> None:
    """Make the changes now, or when the page has read the cart and has not locked it yet."""
    read, carts = pages.items_of, Cart.objects.by(Author("bearer", "app"))

    def then_changed(text: str) -> Any:
        found = read(text)
        if changes:
            changes.pop()(carts, cart)
        return found

    if late:
        monkeypatch.setattr(pages, "items_of", then_changed)
    else:
        for change in changes:
            change(carts, cart)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("form", FORMS.keys() - {"add"}, indirect=True)
def test_a_change_meanwhile_is_shown_and_is_not_overwritten(
    lead: Client,
    cart: Cart,
    form: Form,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    late: bool,
) -> None:
    """It comes before the page has read the cart, or after that and before the cart is locked."""
    change, told, _ = CLASHES[request.node.callspec.params["form"]]
    meanwhile(monkeypatch, [change], cart, late=late)

    response = form.post(lead, why="She asked")

    assert response.status_code == 409
    assert [event.change.version for event in response.context["missed"]] == [4]
    for text in ("This has changed since", "Nothing was saved", told, "She asked"):
        assert text in response.text
    for text in (">app<", form.typed, form.question, f">{form.button}</button>"):
        assert text in response.text
    # Only the history on the cart's page offers to undo.
    assert "/before/4/" not in response.text
    assert Cart.objects.get().version == 4
    assert not LogEntry.objects.exists()
    assert form.post(lead, version=response.context["cart"].version).status_code == 302
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("form", FORMS.keys() - {"delete"}, indirect=True)
def test_a_change_of_something_else_is_no_conflict(
    lead: Client,
    cart: Cart,
    form: Form,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    late: bool,
) -> None:
    *_, others = CLASHES[request.node.callspec.params["form"]]
    meanwhile(monkeypatch, [*others], cart, late=late)
    assert form.post(lead).status_code == 302
    assert LogEntry.objects.count() == 1
    assert cart.changes.filter(author_name="app").exists()


@pytest.mark.parametrize("version", ["", "-1", "99", "9" * 30, None])
def test_a_version_that_is_none_changes_nothing(
    lead: Client, form: Form, unchanged: Unchanged, version: str | None
) -> None:
    del form.sent["version"]
    unchanged()
    response = form.post(lead, **({} if version is None else {"version": version}))
    assert response.status_code == 409


@pytest.mark.parametrize("form", ["item", "delete"], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_a_cart_that_somebody_holds_is_not_changed(
    lead: Client, cart: Cart, form: Form, unchanged: Unchanged
) -> None:
    unchanged()
    row = Cart.objects.filter(pk=cart.pk, profile_key=cart.profile_key)
    with held(lambda: list(row.select_for_update())):
        response = form.post(lead, key=(key := str(uuid7())))
    assert response.status_code == 409
    assert "This cart could not be changed just now: somebody else is changing it" in response.text
    assert form.typed in response.text
    # If it was saved after all, it is not saved again.
    assert str(response.context["key"]) == key


def test_a_cart_that_is_gone_is_told_once(lead: Client, cart: Cart, form: Form) -> None:
    """The page of a deleted cart says the rest: when and by whom."""
    Cart.objects.delete_cart(cart.pk)
    sent = lead.post(form.url, form.sent, follow=True)
    for response in (sent, lead.get(form.url, follow=True)):
        assert response.redirect_chain == [(page_of(cart), 302), (gone_page(cart), 302)]
        assert [str(message) for message in response.context["messages"]] == [
            "This cart was deleted meanwhile. Nothing was saved."
        ]
    assert not Cart.objects.exists()
    assert not LogEntry.objects.exists()


def test_who_may_only_view_is_offered_no_form(
    viewer: Client, lead: Client, cart: Cart, form: Form, unchanged: Unchanged
) -> None:
    assert f'href="{form.url}"' in lead.get(page_of(cart)).text
    assert f'href="{form.url}"' not in viewer.get(page_of(cart)).text
    unchanged()
    for response in (viewer.get(form.url), form.post(viewer)):
        assert response.status_code == 403
        assert "You may not do this" in response.text
    for response in (Client().get(form.url), form.post(Client())):
        assert response.url.startswith("/admin/login/")


def test_a_form_without_its_token_is_refused(
    lead: Client, form: Form, unchanged: Unchanged
) -> None:
    unchanged()
    lead.handler.enforce_csrf_checks = True
    response = form.post(lead)
    assert response.status_code == 403
    assert "This form is out of date" in response.text


@pytest.mark.parametrize(
    ("page", "name", "value", "text"),
    [
        (item_page, "quantity", "0", "must not be below 1."),
        (item_page, "quantity", "10000", "must not be above 9999."),
        (item_page, "quantity", "5.5", "Enter a whole number"),
        (item_page, "price", "1.23456", "must not have more than 4 decimals."),
        (item_page, "price", "-1", "must not be below 0."),
        (item_page, "price", "NaN", "Enter a number"),
        (item_page, "price", "9,5,0", "Enter a number, such as 9.50."),
        # Python's own numbers would be other amounts than those that were meant.
        *(
            (item_page, "price", typed, "Enter a number, such as 9.50.")
            for typed in ("1e5", "1E+2", "1_000", "0x10", "--1", "1 000")
        ),
        (item_page, "quantity", "1_0", "Enter a whole number"),
        (item_page, "options-0-price", "1e5", "Enter a number, such as 9.50."),
        (item_page, "display_name", "   ", "must not be blank"),
        (item_page, "display_name", "x" * 101, "must not be longer than 100 characters"),
        (item_page, "display_name", "a\x1bb", "U+001B: a control character"),
        (item_page, "special_instructions", "x" * 301, "must not be longer than 300 characters"),
        (item_page, "menu_item_key", str(2**63), "must not be above"),
        (item_page, "options-0-display_name", "", "required"),
        (item_page, "options-0-option_set_key", str(-(2**63) - 1), "must not be below"),
        (correct_page, "platform", " ", "must not be blank"),
        (correct_page, "ordering_channel", "", "required"),
        (correct_page, "fulfilment_channel", "x" * 51, "must not be longer than 50 characters"),
        (correct_page, "note", "x" * 301, "must not be longer than 300 characters"),
        (correct_page, "special_instructions", "a\x1bb", "U+001B: a control character"),
    ],
)
def test_what_the_specification_refuses_is_refused_here(
    lead: Client,
    unchanged: Unchanged,
    page: Callable[[Cart], str],
    name: str,
    value: str,
    text: str,
) -> None:
    cart = CartFactory(items=[ItemFactory(with_option=True)])
    unchanged()
    response = lead.post(page(cart), form_of(lead, page(cart)) | {name: value})
    assert response.status_code == 200
    assert text in response.text
    assert response.text.count("<li>") - lead.get(page(cart)).text.count("<li>") <= 1  # told once


@pytest.mark.parametrize(
    ("currency", "typed", "price"),
    [
        ("KWD", "1.250", "1.25"),
        ("KWD", "1,25", "1.25"),
        ("KWD", "1,250.000", "1250"),
        ("KWD", "1,250", None),
        ("KWD", "250,125", None),
        ("EUR", "1,250", "1250"),
        ("EUR", "1,25", "1.25"),
    ],
)
@pytest.mark.parametrize("name", ["price", "options-0-price"])
def test_a_comma_that_may_be_either_is_asked_about(
    lead: Client, name: str, currency: str, typed: str, price: str | None
) -> None:
    option = OptionFactory(currency=currency)
    item = ItemFactory(currency=currency, options=[option])
    cart = CartFactory(currency=currency, items=[item])
    url, before = item_page(cart), items(cart)
    response = lead.post(url, form_of(lead, url) | {name: typed})
    [now] = items(cart)
    stored = now if name == "price" else now["options"][0]
    if price:
        assert (response.status_code, stored["price"]) == (302, Decimal(price))
    else:
        point, whole = typed.replace(",", "."), typed.replace(",", "")
        assert f"This may be two amounts: type {point} or {whole}." in response.text
        assert items(cart) == before


def test_every_field_of_an_item_can_be_seen_and_corrected(lead: Client, cart: Cart) -> None:
    """A field that is added later, too: what a form does not have would be taken away."""
    form, page = lead.get(item_page(cart)).context["editor"], words(lead.get(page_of(cart)).text)
    assert {*form.fields} == {*Item._fields} - {"currency", "options"}
    assert {*form.options.forms[0].fields} - {"DELETE"} == {*Option._fields} - {"currency"}
    for text in ("Menu key DINNER-2026", "Menu version 7", "Menu item key"):
        assert text in page


def test_menu_data_leaves_out_what_was_not_sent(
    lead: Client, cart: Cart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "IN_LINES", desk.IN_LINES - {"special_instructions"})
    assert "Instructions for the kitchen None" not in words(lead.get(page_of(cart)).text)
