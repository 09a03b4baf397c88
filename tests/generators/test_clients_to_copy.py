"""The clients that the page for integrators shows, over a wire that loses requests and answers."""

import shutil
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from carts.models import Cart
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
    program = shutil.copy(PROGRAMS / "order_service_program.py", tmp_path)
    scope = "Cart.Read Cart.Write Cart.Close Cart.AnyProfile"
    return lambda **environment: run(
        "python", program, TOKEN=mint(scope=scope), **environment
    ).strip()


def test_an_order_service_over_a_wire_that_loses(
    order_service: Run, live_server: LiveServer
) -> None:
    with wire(live_server.url, LOSING) as lossy:
        assert order_service(BASE_URL=lossy.url) == "done"


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
