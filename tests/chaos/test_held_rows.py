"""A bearer whose changes wait for a held row leaves a thread to the others."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.chaos.servers import PATIENT, service
from tests.support import bodies
from tests.support.callers import HttpApi
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

THREADS = 3


def change_item(anna: HttpApi, cart: str, item: str) -> requests.Response:
    return anna.put(f"/{cart}/items/{item}", bodies.item())


def add_with_key(anna: HttpApi, cart: str, item: str) -> requests.Response:
    return anna.post(f"/{cart}/items", bodies.item(), Idempotency_Key=item)


def remove_item(anna: HttpApi, cart: str, item: str) -> requests.Response:
    return anna.delete(f"/{cart}/items/{item}")


def delete_cart(anna: HttpApi, cart: str, _item: str) -> requests.Response:
    return anna.delete(f"/{cart}")


@pytest.mark.parametrize("change", [change_item, add_with_key, remove_item, delete_cart])
def test_changes_of_a_held_cart_leave_a_thread(
    cluster: Cluster, change: Callable[..., requests.Response]
) -> None:
    """The row is held for as long as the other bearer needs, and so is every thread but one."""
    one_process: dict[str, Any] = {"WEB_CONCURRENCY": "1", "THREADS": str(THREADS)}
    with service(cluster.url(), DJANGO_SETTINGS_MODULE=PATIENT, **one_process) as server:
        anna, ben = server.caller(sub="anna", kept=False), server.caller(sub="ben", kept=False)
        cart = anna.post("", bodies.cart()).json()["data"]["cartId"]
        item = anna.get(f"/{cart}").json()["data"]["items"][0]["itemId"]
        with ThreadPoolExecutor(THREADS) as pool, cluster.connect() as holder:
            with holder.transaction():
                holder.execute("SELECT 1 FROM carts_cart WHERE id = %s FOR UPDATE", [cart])
                hers = [pool.submit(change, anna, cart, item) for _ in range(THREADS)]
                wait_until(lambda: any(one.done() for one in hers))

                assert ben.post("", bodies.cart()).status_code == 200

                [refused] = [one.result() for one in hers if one.done()]
                assert refused.status_code == 503
                assert refused.headers["Retry-After"] == "1"
            done = sorted(one.result().status_code for one in hers)
    assert done[-1] == 503
    assert done[0] == 200
