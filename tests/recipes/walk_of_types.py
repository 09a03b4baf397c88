"""What a copy of the project passes whose items and options have members of every type.

`test_types.py` makes it. Each type has two members: `requiredGuid` and `optionalGuid`, for example.
"""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from carts.models import Cart
from carts.records import Item, Option
from carts.value_types import types_of
from cartsvc.db.compiled_statements import MAX_SINGLE_VALUES
from cartsvc.member_names import snake_case
from tests.desk.conftest import add_page, form_of, item_page, put_back_page, staff
from tests.models.test_export_customer import export
from tests.recipes.type_samples import SAMPLES
from tests.support import bodies
from tests.support.answers import errors_of
from tests.support.callers import Api
from tests.support.carts import created, shown

REQUIRED = [f"required{kind}" for kind in SAMPLES]
OPTIONAL = [f"optional{kind}" for kind in SAMPLES]
FIRST, SECOND, WRONG = (
    {f"{which}{kind}": getattr(sample, one) for which in ("required", "optional")
     for kind, sample in SAMPLES.items()}
    for one in ("first", "second", "wrong")
)  # fmt: skip
# What a caller sees of one that has none of the optional members.
BARE = {name: FIRST[name] for name in REQUIRED} | dict.fromkeys(OPTIONAL)


def item(values: dict[str, Any]) -> dict[str, Any]:
    return bodies.item(**values, options=[bodies.option(**values)])


def assert_holds(api: Api, cart_id: str, values: dict[str, Any]) -> None:
    """The last item of the cart, and its option, have these values of the members."""
    last = shown(api, cart_id)["items"][-1]
    for part in (last, *last["options"]):
        assert {name: part[name] for name in values} == values


def in_python(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values by their fields, as a record holds them."""
    types = types_of(Item)
    fields = {snake_case(name): value for name, value in values.items()}
    return {
        name: None if value is None else types[name].check_python(value)
        for name, value in fields.items()
    }


@pytest.fixture
def cart(api: Api) -> Cart:
    created(api, bodies.cart(items=[item(FIRST)]))
    return Cart.objects.get()


@pytest.fixture
def lead(db: None) -> Client:
    return staff("Cart support lead")


def path_of(cart: Cart) -> str:
    return f"/{cart.pk}/items/{cart.items.first().pk}"


def test_a_body_brings_them(api: Api, cart: Cart) -> None:
    assert_holds(api, cart.pk, FIRST)
    for values in (SECOND, BARE):
        assert api.put(path_of(cart), item(values)).status_code == 200
        assert_holds(api, cart.pk, values)
    left_out = {name: BARE[name] for name in REQUIRED}
    for _ in range(2):  # once, and as the same request
        answer = api.put(path_of(cart), item(left_out), Idempotency_Key="key")
        assert answer.status_code == 200
    assert answer["Idempotent-Replayed"] == "true"
    assert_holds(api, cart.pk, BARE)


def test_many_items_bring_them(api: Api, cart: Cart) -> None:
    """In rows that go to the database as arrays."""
    sent = [FIRST, BARE, SECOND] * 5
    assert len(sent) * len(FIRST) > MAX_SINGLE_VALUES
    body = {"items": list(map(item, sent))}
    assert api.put(f"/{cart.pk}/items", body).status_code == 200
    for found, values in zip(shown(api, cart.pk)["items"], sent, strict=True):
        for part in (found, *found["options"]):
            assert {name: part[name] for name in values} == values


@pytest.mark.parametrize(
    ("sent", "codes"),
    [
        (WRONG, {f"{one}{kind}": SAMPLES[kind].code for one in ("required", "optional")
                 for kind in SAMPLES}),
        (dict.fromkeys(FIRST), dict.fromkeys(REQUIRED, "null")),
        ({}, dict.fromkeys(REQUIRED, "required")),
    ],
    ids=["wrong", "null", "missing"],
)  # fmt: skip
def test_a_body_is_refused(
    api: Api, cart: Cart, unchanged: Any, sent: dict[str, Any], codes: dict[str, str]
) -> None:
    answer = api.put(path_of(cart), item(sent))
    assert sorted(errors_of(answer)) == sorted(
        (code, f"{part}/{name}") for name, code in codes.items() for part in ("", "/options/0")
    )


def test_the_shell_brings_them(api: Api, cart: Cart) -> None:
    for values in (in_python(FIRST), in_python(SECOND), in_python(BARE)):
        sent = {snake_case(name): value for name, value in bodies.bare_item().items()}
        option = {snake_case(name): value for name, value in bodies.option().items()}
        added = cart.add_item(**sent | values, options=[option | values])
        assert {name: getattr(added, name) for name in values} == values
        added.change(options=[Option(**option | values)])
        assert {name: getattr(added.options.get(), name) for name in values} == values
    assert_holds(api, str(cart.pk), BARE)
    for name, value in WRONG.items():
        with pytest.raises(ValidationError, match=f"^{snake_case(name)}: "):
            added.change(**{snake_case(name): value})


def test_the_desk_brings_them(api: Api, cart: Cart, lead: Client) -> None:
    typed = {
        f"{prefix}{snake_case(name)}": "" if value is None else str(value)
        for prefix in ("", "options-0-")
        for name, value in SECOND.items()
    }
    emptied = {name: "" for name in typed if "optional" in name}
    page = f"{add_page(cart)}?like={cart.items.get().pk}"
    assert lead.post(page, form_of(lead, page)).status_code == 302
    assert_holds(api, cart.pk, FIRST)
    page = item_page(cart, 1)
    for changes, values in ((typed, SECOND), (emptied, SECOND | dict.fromkeys(OPTIONAL))):
        answer = lead.post(page, form_of(lead, page) | changes)
        assert answer.status_code == 302, answer.context["editor"].errors
        assert_holds(api, cart.pk, values)
    for name, value in WRONG.items():
        answer = lead.post(page, form_of(lead, page) | {snake_case(name): str(value)})
        assert [*answer.context["editor"].errors] == [snake_case(name)]


def test_the_history_keeps_them_and_puts_them_back(api: Api, cart: Cart, lead: Client) -> None:
    for values in (SECOND, BARE):
        api.put(path_of(cart), item(values))
    removed = cart.items.first().pk
    api.delete(path_of(cart))

    first, second, last = cart.changes.order_by("version")
    python = [in_python(values) for values in (FIRST, SECOND, BARE)]
    for change, old, new in ((first, *python[:2]), (second, *python[1:])):
        for held, values in ((change.old, old), (change.new, new)):
            assert {name: held[name] for name in values} == values
            assert {name: getattr(held["options"][0], name) for name in values} == values
    assert {name: last.old[name] for name in python[2]} == python[2]
    for version, values in ((4, BARE), (3, SECOND), (2, FIRST)):
        page = put_back_page(cart, version)
        opened = lead.get(page).context["version"]
        assert lead.post(page, {"version": opened}).status_code == 302
        assert_holds(api, cart.pk, values)
    assert cart.items.get().pk == removed
    assert lead.get(f"/admin/carts/cart/{cart.pk}/change/").status_code == 200


def test_the_export_has_them(api: Api, cart: Cart) -> None:
    api.delete(path_of(cart))
    [found] = export()["carts"]
    before = found["changes"][0]["before"]
    for part in (before, before["options"][0]):
        assert {name: part[name] for name in FIRST} == FIRST


def test_the_document_describes_them(client: Client) -> None:
    schemas = client.get("/v2.0/openapi.json").json()["components"]["schemas"]
    for name in ("CartItem", "CartItemOption", "CartItemRead", "CartItemOptionRead"):
        properties = schemas[name]["properties"]
        for kind in SAMPLES:
            required, optional = (properties[f"{one}{kind}"] for one in ("required", "optional"))
            assert optional == {**required, "type": [required["type"], "null"]}
