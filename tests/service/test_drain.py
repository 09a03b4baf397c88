import errno
import os
import socket
import subprocess
import sys
from contextlib import closing
from select import select
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from cartsvc.operations import drain
from tests.support.programs import wait_until


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "_stage", bytearray(1))


def test_not_ready_once_the_drain_has_begun() -> None:
    drain.begin()
    # Without the `db` fixture any query fails the test.
    response = Client().get("/readyz")
    assert (response.status_code, response.json()) == (503, {"status": "draining"})
    assert Client().get("/healthz").status_code == 200


def test_answers_close_their_connection_during_the_drain() -> None:
    def application(_environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("ETag", '"1"')])
        return [b"whole"]

    def headers() -> list[tuple[str, str]]:
        sent: list[Any] = []
        answer = drain.saying_goodbye(application)
        assert answer({}, lambda *arguments: sent.extend(arguments)) == [b"whole"]
        assert sent[0] == "200 OK"
        return list(sent[1])

    assert headers() == [("ETag", '"1"')]
    drain.begin()
    assert headers() == [("ETag", '"1"'), ("Connection", "close")]


# In a process of its own, because it leaves all its sockets.
LISTENER = """
import socket, sys, threading
sys.path.insert(0, ".")
from cartsvc.operations import drain

def serve():
    input()
    queued, _ = listener.accept()
    with queued:
        queued.sendall(queued.recv(9))

def told():
    print("left", flush=True)
    return connected()

connected, drain._connected, drain.SETTLE = drain._connected, told, 0
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    input()
    threading.Thread(target=serve, daemon=True).start()
    drain.leave()
"""


def test_who_came_is_served_and_who_comes_is_refused() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        address = ("127.0.0.1", int(process.stdout.readline()))
        with socket.create_connection(address) as queued, closing(socket.socket()) as late:
            print(file=process.stdin, flush=True)
            assert process.stdout.readline() == "left\n"
            late.setblocking(False)
            assert late.connect_ex(address) == errno.EINPROGRESS
            assert select([], [late], [], 0)[1] == []
            print(file=process.stdin, flush=True)
            queued.sendall(b"whole")
            assert queued.recv(9) == b"whole"
            assert process.wait(60) == 0
            # Its connection was not made meanwhile, so that nothing can have been sent.
            wait_until(lambda: late.connect_ex(address) == errno.ECONNREFUSED)


def test_the_parent_waits_until_each_worker_has_left() -> None:
    os.write(drain._said, b"..")

    drain.end(2)

    assert drain.leaving()
    assert select([drain._heard], [], [], 0)[0] == []


def test_the_parent_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "SETTLE", 0)
    monkeypatch.setattr(drain, "QUIET", 0)

    drain.end(2)

    assert drain.leaving()
