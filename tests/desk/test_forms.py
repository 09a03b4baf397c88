"""What every form of the desk does: it takes a reason, and it changes the cart that it shows."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils.html import escape
from uuid_utils.compat import uuid7

from carts.admin import change_page as pages
from carts.models import Cart
from carts.models.cart_change import Author
from carts.records import Item
from tests.desk.conftest import (
    abandon_page,
    add_page,
    correct_page,
    delete_page,
    form_of,
    gone_page,
    item_page,
    items,
    marked,
    note_page,
    page_of,
    put_back_page,
    remove_page,
    reopen_page,
    when,
)
from tests.support.concurrency import open_transaction
from tests.support.factories import CartFactory, ItemFactory
from tests.support.table_contents import Unchanged

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
    "abandon": (abandon_page, "", "closes the cart as it is now;", "Close as abandoned"),
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
    "abandon": (tap, "quantity 9 → 8", ()),
    "add": (None, "", (tap, write_note, bring_back)),
}


CLASHES: dict[str, Any] = {
    name: SAME.get(name, (tap, "quantity 9 → 8", (write_note, bring_back))) for name in FORMS
}


class Form(NamedTuple):
    url: str
    # What changes the very thing that the form is about, its words, and what changes others.
    same: Callable[..., None]
    told: str
    others: tuple[Callable[..., None], ...]
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
    page, typed, question, button = FORMS[request.param]
    sent = form_of(lead, item_page(cart)) | form_of(lead, correct_page(cart))
    sent |= {"quantity": "3", "note": "Thanks", "why": "Asked"}
    same, told, others = CLASHES[request.param]
    return Form(page(cart), same, told, others, sent, typed, question, button)


def test_a_page_that_changes_a_cart_says_which(lead: Client, cart: Cart) -> None:
    cart.add_items([ItemFactory(display_name=name) for name in ("שלום", "<b>", "Tea")])
    dishes = "9 × [Pizza Margherita], 2 × [שלום], 2 × [&lt;b&gt;], …"
    which = f"{dishes} · 151.50 EUR · restaurant 4711"
    shown = which.replace("[", "<bdi>").replace("]", "</bdi>")
    line = '<p class="which"><span dir="ltr">' + shown.replace(" EUR", " EUR</span>") + "</p>"

    def assert_says_which(url: str) -> None:
        page = marked(lead.get(url).text)
        assert f"<title>{which} · " in page
        assert f"</h1>\n{line}" in page

    for page_at, *_ in FORMS.values():
        assert_says_which(page_at(cart))
    assert_says_which(note_page(cart))
    cart.close(outcome="abandoned")
    assert_says_which(reopen_page(cart))


@pytest.mark.parametrize("why", ["<i>" + "\U0001f355" * 197, ""], ids=["given", "left out"])
def test_every_form_takes_a_reason(lead: Client, cart: Cart, form: Form, why: str) -> None:
    if form.url == delete_page(cart):
        assert "Why (for staff only)" in lead.get(form.url).text
        assert form.post(lead, why=f" {why} ").status_code == (302 if why else 200)
        assert Cart.objects.exists() == (not why)
        assert [
            f" Why: “[{why}]”" in marked(entry.change_message) for entry in LogEntry.objects.all()
        ] == ([True] if why else [])
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
@pytest.mark.parametrize("form", [name for name in FORMS if name != "add"], indirect=True)
def test_a_change_meanwhile_is_shown_and_is_not_overwritten(
    lead: Client, cart: Cart, form: Form, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """It comes before the page has read the cart, or after that and before the cart is locked."""
    meanwhile(monkeypatch, [form.same], cart, late=late)

    response = form.post(lead, why="She asked")

    assert response.status_code == 409
    assert [event.change.version for event in response.context["missed"]] == [4]
    for text in ("This has changed since", "Nothing was saved", form.told, "She asked"):
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
@pytest.mark.parametrize("form", [name for name in FORMS if CLASHES[name][-1]], indirect=True)
def test_a_change_of_something_else_is_no_conflict(
    lead: Client, cart: Cart, form: Form, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    meanwhile(monkeypatch, [*form.others], cart, late=late)
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


@pytest.mark.usefixtures("usual_wait_for_a_lock")
@pytest.mark.parametrize("form", ["item", "delete"], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_a_cart_that_somebody_holds_is_not_changed(
    lead: Client, cart: Cart, form: Form, unchanged: Unchanged
) -> None:
    unchanged()
    row = Cart.objects.filter(pk=cart.pk, profile_key=cart.profile_key)
    with open_transaction(lambda: list(row.select_for_update())):
        response = form.post(lead, key=(key := str(uuid7())))
    assert response.status_code == 409
    assert "This cart could not be changed just now: somebody else is changing it" in response.text
    assert form.typed in response.text
    # If it was saved after all, it is not saved again.
    assert str(response.context["key"]) == key


def test_a_cart_that_is_gone_is_told_once(lead: Client, cart: Cart, form: Form) -> None:
    """The page of a deleted cart says the rest: when and by whom."""
    Cart.objects.delete_cart(cart.pk)
    for ask, told in ((lead.post, " Nothing was saved."), (lead.get, "")):
        response = ask(form.url, form.sent, follow=True)
        assert response.redirect_chain == [(page_of(cart), 302), (gone_page(cart), 302)]
        assert [str(message) for message in response.context["messages"]] == [
            f"This cart was deleted meanwhile.{told}"
        ]
    assert not Cart.objects.exists()
    assert not LogEntry.objects.exists()


def test_who_may_only_view_is_offered_no_form(
    viewer: Client, lead: Client, cart: Cart, form: Form, unchanged: Unchanged
) -> None:
    assert f'href="{form.url}"' in lead.get(page_of(cart)).text
    seen = viewer.get(page_of(cart)).text
    assert f'href="{form.url}"' not in seen
    assert "Your account may see carts, but not change them." in seen
    unchanged()
    for response in (viewer.get(form.url), form.post(viewer)):
        assert response.status_code == 403
        assert "You may not do this" in response.text


def test_a_form_without_its_token_is_refused(
    lead: Client, form: Form, unchanged: Unchanged
) -> None:
    unchanged()
    lead.handler.enforce_csrf_checks = True
    response = form.post(lead)
    assert response.status_code == 403
    assert "This form is out of date" in response.text
