"""Reopen several closed carts at once."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from carts.models import Cart
from carts.records import Closing
from tests.desk.conftest import CARTS, marked, words
from tests.desk.test_channels import form_in, groups, url_of
from tests.support.factories import CartFactory
from tests.support.table_contents import Unchanged

REOPEN = f"{CARTS}reopen/"


@pytest.fixture
def several(db: None) -> list[Any]:
    """Return carts that are ordered, ordered, abandoned, in checkout and open."""
    carts: list[Any] = [CartFactory() for _ in range(5)]
    close(carts[0], "ordered", "A-1")
    close(carts[1], "ordered", "A-2", order_reference="77")
    close(carts[2], "abandoned")
    close(carts[3], "checkout", "P-1")
    return carts


def close(cart: Any, outcome: str, reference: str | None = None, **values: str) -> None:
    closing = Closing(outcome=outcome, reference=reference, **values)
    Cart.objects.close_cart(cart.pk, closing)


def preview(client: Client, carts: list[Any]) -> Any:
    return client.post(f"{REOPEN}?q=4711", {"cart": [str(cart.pk) for cart in carts]})


def statuses(carts: list[Any]) -> list[str]:
    return [Cart.objects.get(pk=cart.pk).status for cart in carts]


def test_closed_carts_are_reopened_after_a_preview(lead: Client, several: list[Any]) -> None:
    first, second, abandoned, checkout, still = several
    assert f'formaction="{REOPEN}?q=4711">Reopen the selected' in lead.get(f"{CARTS}?q=4711").text
    page = preview(lead, several)
    assert groups(page) == {
        "1 cart: abandoned → open": [abandoned],
        "1 cart: checkout → open": [checkout],
        "2 carts: ordered → open": [second, first],
        "1 cart: open, so it stays as it is": [still],
    }
    assert "reference “A-2”, order reference “77”" in words(page.text)
    assert "Why (for staff only)" in page.text
    assert ">Reopen 4 carts</button>" in page.text
    assert statuses(several) == ["ordered", "ordered", "abandoned", "checkout", "open"]

    done: Any = lead.post(url_of(page), {**form_in(page), "why": "A mistake"}, follow=True)

    assert done.redirect_chain == [(f"{CARTS}?q=4711", 302)]
    assert "Carts changed: 4." in done.text
    assert "Left as they are, as the preview said: 1." in done.text
    assert statuses(several) == ["open"] * 5
    assert Cart.objects.get(pk=still.pk).version == 1
    change = second.changes.latest("version")
    told = (change.operation, change.author.name, change.why)
    assert told == ("Reopen Cart", "anna", "A mistake")
    entry = LogEntry.objects.get(object_id=str(second.pk))
    assert marked(entry.change_message) == (
        "Cart reopened: ordered → open; reference “[A-2]”, order reference “[77]”. "
        "Why: “[A mistake]”"
    )


@pytest.mark.parametrize("why", [{}, {"why": ""}, {"why": "a\nb"}])
def test_it_asks_why(
    lead: Client, several: list[Any], unchanged: Unchanged, why: dict[str, str]
) -> None:
    page = preview(lead, several)
    asked = lead.post(REOPEN, {**form_in(page), **why})
    assert ">Preview</button>" in asked.text
    assert "Carts changed" not in asked.text
    typed = lead.post(REOPEN, {**form_in(asked), "why": "A mistake"})
    assert 'value="A mistake"' in typed.text
    assert ">Reopen 4 carts</button>" in typed.text


def test_a_cart_that_was_closed_in_another_way_since_is_left(
    lead: Client, several: list[Any]
) -> None:
    first, second, abandoned, checkout, still = several
    page = preview(lead, several)
    close(checkout, "ordered", "P-1")
    for cart in (first, abandoned):
        Cart.objects.reopen_cart(cart.pk)
    close(first, "ordered", "B-1")
    close(still, "abandoned")
    answer = lead.post(url_of(page), {**form_in(page), "why": "A mistake"})
    said, text = "It has changed since the preview, which said:", words(answer.text)
    assert "Carts changed: 1." in text
    assert f"{said} checkout → open; reference “P-1”. Now: ordered → open; refer" in text
    assert f"{said} ordered → open; reference “A-1”. Now: ordered → open; reference “B-1”" in text
    assert f"{said} abandoned → open. Now: open, so it stays as it is" in text
    assert statuses(several) == ["ordered", "open", "open", "ordered", "abandoned"]
    assert LogEntry.objects.get().object_id == str(second.pk)


def test_nothing_is_asked_of_open_carts(
    lead: Client, several: list[Any], unchanged: Unchanged
) -> None:
    page = preview(lead, several[4:])
    assert "Nothing would change: each of these carts stays as it is." in page.text
    assert 'name="why"' not in page.text
    assert "<button" not in page.text.partition('class="item-form"')[2]
