"""What is held of a cart that went from one customer to another, and what erasing either leaves."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from carts.cart_errors import VersionMismatch
from carts.models import Cart, CartChange, DeletedCart, IdempotencyRecord, MovedCart
from carts.models.cart_change import Author
from tests.desk.conftest import form_of, item_page, staff
from tests.models.test_erase_customer import erase, found
from tests.models.test_export_customer import export
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory, ItemFactory
from tests.support.operations import send
from tests.support.table_contents import unguarded_rows

WORDS = "Pizza for Mia"
THIRD = UUID("00000000-0000-4000-8000-000000000003")


def held() -> set[str]:
    return found([str(PROFILE), str(STRANGER), WORDS])


@pytest.fixture
def moved(api: Api) -> str:
    """Return a cart of PROFILE that went to STRANGER, with all that it left with either."""
    body = bodies.cart(items=[bodies.item(displayName=WORDS)])
    shows = {"Prefer": "return=representation"}
    cart_id = str(api.post(body=body, Idempotency_Key="create").json()["data"]["cartId"])
    api.patch(f"/{cart_id}", {"note": "x"}, Idempotency_Key="change", **shows)
    lead, page = staff("Cart support lead"), item_page(Cart.objects.get(pk=cart_id))
    assert lead.post(page, form_of(lead, page) | {"quantity": "3"}).status_code == 302
    send(api, "Move Cart", cart_id, Idempotency_Key="move", **shows)
    return cart_id


def test_erasing_the_new_customer_leaves_nothing_of_the_cart(api: Api, moved: str) -> None:
    kept = created(api)
    api.patch(f"/{kept}", {"note": "y"}, Idempotency_Key="kept")

    erase(profile=STRANGER)

    assert held() == {str(PROFILE)}
    assert found([moved]) == set()
    assert [one.key for one in IdempotencyRecord.objects.all()] == ["kept"]
    assert shown(api, kept)["version"] == 2


def test_erasing_the_old_customer_leaves_the_cart(moved: str) -> None:
    new = Api(STRANGER)
    new.patch(f"/{moved}", {"note": "y"}, Idempotency_Key="new", Prefer="return=representation")
    cart = shown(new, moved)

    erase()

    assert held() == {str(STRANGER), WORDS}
    assert shown(new, moved) == cart
    [move] = CartChange.objects.filter(operation="Move Cart")
    assert (move.old, move.new) == ({"profile_key": None}, {"profile_key": str(STRANGER)})
    assert [one.key for one in IdempotencyRecord.objects.all()] == ["new"]
    assert erase()[-1] == "0 moved carts deleted."


def test_erasing_who_had_it_in_between(api: Api, moved: str) -> None:
    shows = {"Prefer": "return=representation"}
    body = {"profileKey": str(THIRD)}
    Api(STRANGER).post(f"/{moved}/move", body, Idempotency_Key="on", **shows)

    erase(profile=STRANGER)

    assert held() == {str(PROFILE), WORDS}
    was_and_now = [(c.old, c.new) for c in CartChange.objects.filter(operation="Move Cart")]
    assert was_and_now == [
        ({"profile_key": str(PROFILE)}, {"profile_key": None}),
        ({"profile_key": None}, {"profile_key": str(THIRD)}),
    ]
    assert {one.key for one in IdempotencyRecord.objects.all()} == {"create", "change"}


def test_erasing_after_the_cart_was_deleted(moved: str) -> None:
    Api(STRANGER).delete(f"/{moved}")
    erase(profile=STRANGER)
    assert held() <= {str(PROFILE)}
    assert found([moved]) == set()


class Interrupted(StringIO):
    """Output that calls back before its first line, when the command has read what there is."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self.call = call

    def write(self, text: str) -> int:
        if not self.tell():
            self.call()
        return super().write(text)


def move(cart_id: str, *customers: UUID) -> None:
    for here, there in pairwise(customers):
        body, shows = {"profileKey": str(there)}, {"Prefer": "return=representation"}
        key = f"{here}/{there}"
        answer = Api(here).post(f"/{cart_id}/move", body, Idempotency_Key=key, **shows)
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [
        ([PROFILE], [PROFILE, STRANGER]),
        ([STRANGER], [STRANGER, PROFILE]),
        ([STRANGER, PROFILE], [PROFILE, THIRD]),
        ([PROFILE, STRANGER], [STRANGER, PROFILE, THIRD]),
    ],
)
def test_a_cart_that_is_moved_while_a_customer_is_erased_is_left_to_another_run(
    db: None, before: list[UUID], meanwhile: list[UUID]
) -> None:
    cart_id = created(Api(before[0]))
    move(cart_id, *before)

    out = Interrupted(lambda: move(cart_id, *meanwhile))
    with pytest.raises(CommandError, match="Run the command again"):
        call_command("erase_customer", str(PROFILE), stdout=out)

    assert Cart.objects.get().profile_key == meanwhile[-1]
    for customer in (PROFILE, STRANGER):
        erase(profile=customer)
        assert found([str(customer)]) == set()


THOUSANDS = [UUID(int=number) for number in range(5_000)]
OF_APP = {"author_kind": "bearer", "author_name": "app"}


def leave(cart_ids: list[UUID], customers: list[UUID]) -> None:
    """Leave what tells of carts that each went from one of the customers, and keys of the first."""
    pairs = list(zip(cart_ids, customers, strict=True))
    unguarded_rows(MovedCart).bulk_create(
        MovedCart(cart_id=cart_id, profile_key=customer, moved_on=timezone.now(), **OF_APP)
        for cart_id, customer in pairs
    )
    IdempotencyRecord.objects.bulk_create(
        IdempotencyRecord(
            profile_key=customer, key=f"{cart_id}", digest=b"d", data=f'{{"cartId": "{cart_id}"}}'
        )
        for cart_id, customer in pairs[:50]
    )


def test_thousands_of_carts_that_went(db: None) -> None:
    for customer in (PROFILE, STRANGER):
        leave(THOUSANDS, [customer] * 5_000)
    assert len(export()["movedCarts"]) == 5_000
    lines = erase()
    assert (lines[1], lines[-1]) == ("50 idempotency records deleted.", "5000 moved carts deleted.")


def test_thousands_of_carts_that_came(db: None) -> None:
    cart = {"partner_key": "ACME", "restaurant_key": 1, "deleted_on": timezone.now(), **OF_APP}
    unguarded_rows(DeletedCart).bulk_create(
        DeletedCart(id=cart_id, profile_key=PROFILE, **cart) for cart_id in THOUSANDS
    )
    leave(THOUSANDS, THOUSANDS)
    assert len(export()["idempotencyRecords"]) == 50
    lines = erase()
    assert (lines[1], lines[-1]) == ("50 idempotency records deleted.", "5000 moved carts deleted.")


def test_the_export_of_either_says_what_it_holds(moved: str) -> None:
    left = MovedCart.objects.get()
    mine, theirs = export(), export(STRANGER)
    assert (mine["carts"], [one["cartId"] for one in mine["movedCarts"]]) == ([], [moved])
    assert mine["movedCarts"][0]["authorName"] == left.author_name
    [cart] = theirs["carts"]
    assert (cart["cartId"], cart["changes"][-1]["operation"]) == (moved, "Move Cart")
    assert theirs["movedCarts"] == []


def test_the_shell_moves_a_cart(db: None) -> None:
    cart: Any = CartFactory(profile_key=PROFILE, items=[ItemFactory(with_option=True)])
    with pytest.raises(VersionMismatch):
        cart.move(STRANGER, version=2)
    with pytest.raises(Exception, match="8-4-4-4-12"):
        cart.move("x")
    cart.move(str(STRANGER), version=1)
    assert (cart.profile_key, cart.version, cart.items.count()) == (STRANGER, 2, 1)
    assert cart.changes.get().author == Author.shell()
    cart.move(STRANGER)
    assert cart.version == 2


def test_what_is_kept_of_a_moved_cart_goes_with_the_time(db: None) -> None:
    cart: Any = CartFactory(profile_key=PROFILE)
    Cart.objects.dated(timezone.now() - timedelta(days=1)).move_cart(cart.pk, STRANGER)
    out = StringIO()
    call_command("purge_carts", "--older-than", "30d", "--force", stdout=out)
    assert "0 moved carts deleted." in out.getvalue()
    assert MovedCart.objects.count() == 1
