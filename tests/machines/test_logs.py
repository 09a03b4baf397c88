"""What the log says of a request, and a log that takes no more."""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from tests.machines.servers import (
    ends,
    replaces_a_worker,
    serves,
    service,
)
from tests.support import bodies


def test_each_request_is_one_line_with_no_secret_in_it() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with service() as server:
        caller = server.caller(sub="somebody@example.org")
        headers = {"X-Request-ID": "trace-me-1", "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
        body = bodies.cart(note="t0p s3cret")
        assert caller.post("?token=s3cret", body, **headers).status_code == 200
        caller.post(body={})
        for path in ("v2.0/%0d%0aforged", "healthz"):
            requests.get(f"{server.url}/{path}", timeout=60)
        text = server.log.read_text()
    written = map(json.loads, text.splitlines())  # the server's own lines are JSON, too
    created, refused, unknown = (line for line in written if line["logger"] == "cartsvc.access")
    assert (refused["status"], unknown["status"]) == (400, 404)
    assert created.pop("time")
    assert created.pop("duration_ms") > 0
    assert re.fullmatch("[0-9a-f]{16}", created["bearer"])
    assert refused["bearer"] == created.pop("bearer")
    assert created == {
        "level": "INFO",
        "logger": "cartsvc.access",
        "message": "Create Cart 200",
        "operation": "Create Cart",
        "status": 200,
        "request_id": "trace-me-1",
        "trace_id": trace,
        "instance": server.name,
    }
    for secret in ("s3cret", "somebody", caller.token, "forged", caller.base.split("/")[5]):
        assert secret not in text


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb") as filler:
        filler.write(bytes(33 << 20))


def test_a_log_without_room_loses_lines(small_disk: Path) -> None:
    with service(log=small_disk / "service.log") as server:
        fill(small_disk)
        serves(server, 100)
        replaces_a_worker(server)
        written = server.log.stat().st_size
        (small_disk / "filler").unlink()
        serves(server)
        assert server.log.stat().st_size > written
        ends(server)


@pytest.mark.parametrize("stays", [False, True], ids=["gone", "stalled"])
def test_a_log_whose_reader_does_not_read_loses_lines(tmp_path: Path, stays: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with service(log=pipe) as server:
        if not stays:
            os.close(reader)
        serves(server, 400)  # a pipe holds some two hundred lines
        replaces_a_worker(server)
        ends(server)
    if stays:
        os.close(reader)
