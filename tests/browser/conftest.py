import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from carts.models import Cart
from tests.desk.conftest import PASSWORD, member
from tests.support.factories import CartFactory, ItemFactory, OptionFactory
from tests.support.programs import missing, program

FIND = "/admin/carts/cart/"
THE_LIST = re.compile("^[^?]*/admin/carts/cart/(mine/)?$")

LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

# How high each of these is, in pixels.
HEIGHTS = "prices => prices.map(price => price.getBoundingClientRect().height)"

# Opens a page.
Open = Callable[..., Any]

# A folder for pictures of the pages, for whoever wants to look at them.
SCREENSHOTS = os.environ.get("SCREENSHOTS")

WATCH = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


# Scoped to the module, because Django has other connections while the driver's loop runs.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        missing("playwright")
    path = program("chromium")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Allowed because only the browser's driver runs an event loop in this thread.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any, live_server: Any) -> Iterator[Open]:
    """Open browser pages. At the end, none of them may have logged an error."""
    complaints: list[str] = []
    contexts = []

    def log(kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            complaints.append(text)

    def open_page(width: int = 1280, scheme: str = "light") -> Any:
        context = chromium.new_context(
            base_url=live_server.url,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            timezone_id="Asia/Tokyo",
        )
        contexts.append(context)
        context.add_init_script(WATCH)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: log(message.type, message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def sign_in(page: Any, name: str) -> None:
    page.goto(FIND)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(THE_LIST)


@pytest.fixture
def cart(db: None) -> Cart:
    member("anna", "Cart support lead")
    cart: Any = CartFactory(
        note="Invoice to the office",
        special_instructions="Ring twice",
        items=[
            ItemFactory(
                special_instructions="No basil",
                options=[OptionFactory(), OptionFactory(display_name="Olives")],
            ),
            ItemFactory(display_name="Cola", quantity=1),
        ],
    )
    return cast("Cart", cart)


@pytest.fixture
def desk(cart: Cart, open_page: Open) -> Open:
    """Open the desk in a browser, signed in."""

    def open_desk(width: int = 1280) -> Any:
        page = open_page(width)
        sign_in(page, "anna")
        return page

    return open_desk


class Agent:
    """Somebody at the desk, whose clicks are counted. What is typed costs nothing."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0

    def click(self, role: Any, name: str, **which: Any) -> None:
        self.page.get_by_role(role, name=name, **which).first.click()
        self.page.wait_for_load_state()
        self.clicks += 1

    def find(self, term: object) -> None:
        self.page.get_by_label("Find a cart").fill(str(term))
        self.page.keyboard.press("Enter")
        self.page.wait_for_load_state()

    def type(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)

    def told(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture
def agent(desk: Open) -> Agent:
    return Agent(desk())


def complained(open_page: Open, *statuses: int) -> None:
    """Check that the browser has logged refused pages with these statuses, and nothing else."""
    told = [complaint.partition("status of ")[2][:3] for complaint in open_page.complaints]
    assert told == [str(status) for status in statuses]
    open_page.complaints.clear()


def shoot(page: Any, name: str) -> None:
    """Check that nothing overflows. Take a picture, if SCREENSHOTS names a folder for it."""
    page.wait_for_load_state()  # a click may have led here
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS, f"{name}.png"), full_page=True)
    overflow = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    assert overflow <= 0, f"{name} is {overflow} pixels too wide"


def check(page: Any, name: str) -> None:
    """Check that nothing overflows and that axe finds nothing serious. See `shoot`."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    shoot(page, name)
    serious = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    assert serious == [], name


def tab_to(page: Any, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({selector!r})"):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            shadow = page.evaluate("getComputedStyle(document.activeElement).boxShadow")
            assert (outline, shadow) != ("none", "none"), f"{selector} does not show its focus"
            return
    pytest.fail(f"Tab does not reach {selector}")


def follow(page: Any, selector: str, url: Any) -> None:
    """Reach the link or button by the keyboard, press it, and wait for the page it leads to."""
    tab_to(page, selector)
    page.keyboard.press("Enter")
    page.wait_for_url(url)
