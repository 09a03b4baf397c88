from typing import Any

from django.test import Client

from cartsvc.serving.drain import DRAINING, Drainable


def test_not_ready_once_the_drain_has_begun() -> None:
    # Without the `db` fixture any query fails the test.
    response = Client().get("/readyz", **{DRAINING: True})
    assert (response.status_code, response.json()) == (503, {"status": "draining"})
    assert Client().get("/healthz", **{DRAINING: True}).status_code == 200


def test_no_header_of_a_caller_begins_it(db: None) -> None:
    assert Client(headers={DRAINING: "1", "Draining": "1"}).get("/readyz").status_code == 200


def test_responses_close_their_connection_during_the_drain() -> None:
    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("ETag", '"1"')])
        return [b"draining" if DRAINING in environ else b"serving"]

    drainable = Drainable(application)

    def answer() -> tuple[Any, ...]:
        sent: list[Any] = []
        return *drainable({}, lambda *arguments: sent.extend(arguments)), *sent

    assert answer() == (b"serving", "200 OK", [("ETag", '"1"')])
    drainable.begin()
    assert answer() == (b"draining", "200 OK", [("ETag", '"1"'), ("Connection", "close")])
