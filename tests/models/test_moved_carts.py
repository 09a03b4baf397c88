"""What is held of a cart that went from one customer to another, and what erasing either leaves."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from carts.cart_errors import VersionMismatch
from carts.models import Cart, CartChange, IdempotencyRecord, MovedCart
from carts.models.cart_change import Author
from tests.desk.conftest import form_of, item_page, staff
from tests.models.test_erase_customer import erase, found
from tests.models.test_export_customer import export
from tests.support import bodies
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.carts import created, shown
from tests.support.factories import CartFactory, ItemFactory
from tests.support.operations import send

WORDS = "Pizza for Mia"


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
    assert erase()[-1] == "0 carts deleted."


def test_erasing_who_had_it_in_between(api: Api, moved: str) -> None:
    shows = {"Prefer": "return=representation"}
    third = "00000000-0000-4000-8000-000000000003"
    Api(STRANGER).post(f"/{moved}/move", {"profileKey": third}, Idempotency_Key="on", **shows)

    erase(profile=STRANGER)

    assert held() == {str(PROFILE), WORDS}
    was_and_now = [(c.old, c.new) for c in CartChange.objects.filter(operation="Move Cart")]
    assert was_and_now == [
        ({"profile_key": str(PROFILE)}, {"profile_key": None}),
        ({"profile_key": None}, {"profile_key": third}),
    ]
    assert {one.key for one in IdempotencyRecord.objects.all()} == {"create", "change"}


def test_erasing_after_the_cart_was_deleted(moved: str) -> None:
    Api(STRANGER).delete(f"/{moved}")
    erase(profile=STRANGER)
    assert held() <= {str(PROFILE)}
    assert found([moved]) == set()


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
    call_command("purge_carts", "--older-than", "30d", stdout=out)
    assert "0 moved carts deleted." in out.getvalue()
    assert MovedCart.objects.count() == 1
