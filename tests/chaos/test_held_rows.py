"""A bearer whose changes wait for a held row leaves a thread to the others."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.chaos.servers import PATIENT, held_row, service
from tests.support import bodies
from tests.support.carts import created_with_items
from tests.support.clusters import Cluster
from tests.support.programs import wait_until

THREADS = 3


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/items/{item}", bodies.item()),
        ("POST", "/items", bodies.item()),
        ("DELETE", "/items/{item}", None),
        ("DELETE", "", None),
    ],
    ids=["replace", "add", "remove", "delete"],
)
def test_changes_of_a_held_cart_leave_a_thread(
    cluster: Cluster, method: str, path: str, body: Any
) -> None:
    """The row is held for as long as the other bearer needs, and so is every thread but one."""
    one_process: dict[str, Any] = {"WEB_CONCURRENCY": "1", "THREADS": str(THREADS)}
    with service(cluster.url(), DJANGO_SETTINGS_MODULE=PATIENT, **one_process) as server:
        anna, ben = server.caller(sub="anna", kept=False), server.caller(sub="ben", kept=False)
        cart, [item] = created_with_items(anna, "Pizza")
        change = partial(anna.request, method, f"/{cart}{path.format(item=item)}", body)
        key = {"Idempotency_Key": item} if method == "POST" else {}
        with ThreadPoolExecutor(THREADS) as pool:
            with held_row(cluster, cart):
                hers = [pool.submit(change, **key) for _ in range(THREADS)]
                wait_until(lambda: any(one.done() for one in hers))

                assert ben.post("", bodies.cart()).status_code == 200

                [refused] = [one.result() for one in hers if one.done()]
                assert refused.status_code == 503
                assert refused.headers["Retry-After"] == "1"
            done = sorted(one.result().status_code for one in hers)
    assert done[-1] == 503
    assert done[0] == 200
