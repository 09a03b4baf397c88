import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import chain
from typing import Any, cast

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from pytest_django import Settings

from carts.models import Cart, StaffEntry
from carts.models.reads import items_of
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.table_contents import Unchanged

CARTS = "/admin/carts/cart/"
MINE = f"{CARTS}mine/"
ACCOUNTS = "/admin/auth/user/"
LOGIN = "/admin/login/"
PASSWORD = "correct horse battery"


def member(name: str, *groups: str, password: str | None = PASSWORD) -> User:
    """Return an account of a member of staff."""
    user = User.objects.create_user(name, password=password, is_staff=True)
    user.groups.set([Group.objects.get(name=group) for group in groups])
    return user


def staff(*groups: str, name: str = "anna") -> Client:
    """Return a client that is signed in as a member of staff."""
    client = Client()
    client.force_login(member(name, *groups, password=None))
    return client


def sign_in(client: Client, password: str = PASSWORD, name: str = "anna") -> int:
    return client.post(LOGIN, {"username": name, "password": password}).status_code


def guess(client: Client, times: int = 5, name: str = "anna") -> list[int]:
    return [sign_in(client, "wrong", name) for _ in range(times)]


def role(name: str) -> int:
    return Group.objects.get(name=name).pk


def add_account(client: Client, name: str, **fields: Any) -> Any:
    """Send the form of a new account, and return the page that follows."""
    password = dict.fromkeys(("password1", "password2"), PASSWORD)
    return client.post(f"{ACCOUNTS}add/", {"username": name, **password, **fields}, follow=True)


@pytest.fixture
def cheap_passwords(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def unchanged(unchanged: Unchanged) -> Iterator[Unchanged]:
    """Fail the test, besides, if anything stands in the log of staff."""
    yield unchanged
    assert not LogEntry.objects.exists()


@pytest.fixture
def viewer(db: None) -> Client:
    ContentType.objects.get_for_model(Cart)  # asked once in the life of a process
    return staff("Cart support", name="ben")


@pytest.fixture
def lead(db: None) -> Client:
    return staff("Cart support lead")


@pytest.fixture
def cart(db: None) -> Cart:
    return cast("Cart", CartFactory(items=[ItemFactory(with_option=True)]))


def page_at(path: str) -> Callable[[Cart], str]:
    """Return a function from a cart to the address of this page of it."""
    return lambda cart: f"{CARTS}{cart.pk}/{path}/"


page_of, correct_page, delete_page = map(page_at, ("change", "correct", "delete"))
note_page, abandon_page, reopen_page = map(page_at, ("note", "abandon", "reopen"))
add_page, gone_page = page_at("items/add"), page_at("history")  # which tells of a deleted cart


def items(cart: Cart) -> list[dict[str, Any]]:
    """Return the items as they are stored."""
    placed = items_of(Cart.objects.with_items().get(pk=cart.pk).items_json).values()
    return [
        {
            "item_id": one.id,
            **one.item._asdict(),
            "options": [option._asdict() for option in one.item.options],
            "value": one.value,
        }
        for one in placed
    ]


def item_of(cart: Cart, number: int = 0) -> str:
    """Return the address of the cart's page at an item."""
    item_id = items(cart)[number]["item_id"]
    return f"{page_of(cart)}#item-{item_id}"


def item_page(cart: Cart, number: int = 0) -> str:
    return f"{CARTS}{cart.pk}/items/{items(cart)[number]['item_id']}/"


def remove_page(cart: Cart) -> str:
    return f"{item_page(cart)}remove/"


def when(cart: Cart, version: int = 2) -> str:
    """Return the time of a change, as the history shows it."""
    return f"{cart.changes.get(version=version).at:%-d %b %Y, %H:%M:%S} UTC"


def put_back_page(cart: Cart, version: int = 2) -> str:
    """Return the address of the page that puts an item back as it was before the version."""
    return f"{CARTS}{cart.pk}/before/{version}/"


def events(client: Client, cart: Cart, query: str = "") -> list[Any]:
    """Return the history that the cart's page shows, newest first."""
    return list(client.get(f"{page_of(cart)}{query}").context["timeline"]["events"])


def found(client: Client, **query: object) -> list[Any]:
    """Return the carts that the search lists."""
    response = client.get(CARTS, query)
    assert response.status_code == 200
    return list(response.context["result"].carts)


def chips(client: Client, **query: object) -> list[str]:
    """Return what the search says that it took each word for, and the filters that are set."""
    text = client.get(CARTS, query).text.partition('<ul class="chips')[2].partition("</ul>")[0]
    return [words(re.sub("<a.*?</a>", "", one)) for one in re.findall("<li>(.*?)</li>", text)]


def form_of(client: Client, url: str) -> dict[str, Any]:
    """Return what a browser would send if the page's form were submitted untouched."""
    return form_on(client.get(url))


def form_on(response: Any) -> dict[str, Any]:
    """Return what a browser would send if the form of this page were submitted untouched."""
    context = response.context
    fields = [*context["editor"]]
    if options := getattr(context["editor"], "options", None):
        fields += [*chain(*options), *options.management_form]
    sent = {field.html_name: field.value() for field in fields if field.value() is not None}
    return {**sent, "version": context["version"]}


def log_entry(cart: Cart, user: User, message: str, *, flag: int = CHANGE) -> LogEntry:
    """Write an entry of the staff log about the second version of a cart."""
    entry = LogEntry.objects.log_actions(user.pk, [cart], flag, message, single_object=True)
    StaffEntry.objects.create(
        log_entry=entry, cart_id=cart.pk, profile_key=cart.profile_key, version=2
    )
    return entry


def marked(text: str) -> str:
    """Return the text with [brackets] in place of the characters that isolate its values."""
    return text.translate({0x2068: "[", 0x2069: "]"})


def logged() -> str:
    """Return the only entry of the staff log."""
    return marked(LogEntry.objects.get().change_message)


def words(html: str) -> str:
    """Return the text of a page, on one line."""
    return " ".join(unescape(re.sub("<[^>]+>", "", html)).split())


def big_cart(count: int, options: int) -> Cart:
    contents = [
        ItemFactory(options=[OptionFactory() for _ in range(options)]) for _ in range(count)
    ]
    return cast("Cart", CartFactory(items=contents))


@pytest.fixture
def others(db: None) -> list[Cart]:
    return [CartFactory(restaurant_key=1, partner_key="BIST") for _ in range(3)]
