"""The clients that the page for integrators shows, over a wire that loses requests and answers."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer
from uuid_utils.compat import uuid7

from carts import views
from carts.models import Cart, change_feed
from tests.generators.conftest import PROGRAMS, Run
from tests.generators.lossy_wire import LOSING, wire
from tests.support.programs import ROOT
from tests.support.tokens import mint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def app(run: Run, document: Path, typescript: Run, tmp_path: Path) -> Run:
    """Compile a program with the client to copy. Run it, and return what it says."""
    run("openapi-typescript", document, "-o", "schema.d.ts")
    shutil.copy(PROGRAMS / "cart_client.ts", tmp_path)
    return typescript


def test_an_app_over_a_wire_that_loses(app: Run, live_server: LiveServer) -> None:
    with wire(live_server.url, LOSING) as lossy:
        app("evening.ts", BASE_URL=lossy.url, REFUSALS="1")
    with wire(live_server.url) as good:
        app("evening.ts", BASE_URL=good.url, REFUSALS="1")
    assert lossy.passed > good.passed  # some answers were lost


@pytest.fixture
def order_service(run: Run, tmp_path: Path) -> Run:
    """Run the page's order service. Return what its program says."""
    page = (ROOT / "carts/README.md").read_text()
    source = page.split("### An order service in Python", 1)[1].split("```python\n")[1]
    (tmp_path / "order_service.py").write_text(source.split("```")[0])
    for program in PROGRAMS.glob("order_service_*.py"):
        shutil.copy(program, tmp_path)
    scope = "Cart.Read Cart.Write Cart.Close Cart.AnyProfile"
    return lambda program="program", **environment: run(
        "python", f"order_service_{program}.py", TOKEN=mint(scope=scope), **environment
    ).strip()


def test_an_order_service_over_a_wire_that_loses(
    order_service: Run, live_server: LiveServer
) -> None:
    with wire(live_server.url, LOSING) as lossy:
        assert order_service(BASE_URL=lossy.url) == "done"


def test_an_order_service_that_dies(
    order_service: Run, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At any line, while news of money comes late and in any order."""
    seconds_ahead = tmp_path / "seconds_ahead"
    seconds_ahead.write_text("0")
    now = timezone.now
    monkeypatch.setattr(
        timezone, "now", lambda: now() + timedelta(seconds=int(seconds_ahead.read_text()))
    )
    monkeypatch.setattr(
        views, "uuid7", lambda: uuid7(nanoseconds=int(timezone.now().timestamp() * 1e9))
    )
    monkeypatch.setattr(change_feed, "SETTLING_SECONDS", -(10**6))  # also by the database's clock
    with wire(live_server.url, LOSING) as lossy:
        environment = {"SECONDS_AHEAD": str(seconds_ahead), "EVENINGS": "6"}
        assert order_service("deaths", BASE_URL=lossy.url, **environment) == "done"


def test_an_evening_takes_at_most_15_calls(
    app: Run, order_service: Run, live_server: LiveServer
) -> None:
    """From the first dish to the order's number, by an app on two devices and a back end."""
    with wire(live_server.url) as counted:
        cart = app("evening.ts", BASE_URL=counted.url)
        number = order_service(BASE_URL=counted.url, CART=cart)
    assert counted.passed <= 15
    sold = Cart.objects.get()
    assert (str(sold.pk), sold.status, sold.order_reference) == (cart, "ordered", number)
