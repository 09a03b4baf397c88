import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from tests.desk.conftest import support_group
from tests.support.programs import missing, program

FIND = "/admin/carts/cart/"
THE_LIST = re.compile("^[^?]*/admin/carts/cart/$")

LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

PASSWORD = "correct horse battery"

SCREENSHOTS = Path(settings.VAR_DIR) / "screenshots"

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

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
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    # Allowed because only the browser's driver runs an event loop in this thread.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def open_page(chromium: Any, live_server: Any) -> Iterator[Callable[..., Any]]:
    """Open browser pages. At the end, none of them may have logged an error."""
    complaints: list[str] = []
    contexts = []

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
        page.set_default_timeout(10_000)
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in {"error", "warning"} else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def member(name: str, group: str) -> None:
    user = User.objects.create_user(name, password=PASSWORD, is_staff=True)
    user.groups.add(support_group(group))


def sign_in(page: Any, name: str) -> None:
    page.goto(FIND)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(THE_LIST)


def shoot(page: Any, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def check(page: Any, name: str) -> None:
    """Take a screenshot. Check that axe finds nothing serious and that nothing overflows."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    shoot(page, name)
    serious = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    assert serious == [], name
    overflow = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    assert overflow <= 0, f"{name} is {overflow} pixels too wide"
