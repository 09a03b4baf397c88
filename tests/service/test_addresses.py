"""The addresses at which `manage.py serve` listens, and those that it refuses."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pytest_django import Settings

from cartsvc.serving.addresses import address_of
from tests.support.programs import accepts, free_port, wait_until


@pytest.mark.parametrize(
    ("name", "advice"),
    [("BIND", "BIND= or --bind HOST:PORT"), ("METRICS_BIND", "METRICS_BIND=HOST:PORT")],
)
def test_an_address_in_use_is_named(settings: Settings, name: str, advice: str) -> None:
    settings.BIND = f"127.0.0.1:{free_port()}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        setattr(settings, name, address)
        with pytest.raises(CommandError, match=f"{address} cannot be used .* with {advice}"):
            call_command("serve")


def test_one_of_two_services_at_one_address_is_refused(tmp_path: Path) -> None:
    """The kernel would let them share it."""
    port = free_port()
    both = [
        subprocess.Popen(
            [sys.executable, "manage.py", "serve", f"127.0.0.1:{port}"],
            cwd=settings.BASE_DIR,
            env={"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{tmp_path}/{number}"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for number in range(2)
    ]
    try:
        wait_until(lambda: any(each.poll() is not None for each in both) and accepts(port), 60)
        (other,) = (each for each in both if each.poll() is None)
    finally:
        for each in both:
            each.terminate()
    said = [each.communicate(timeout=60)[1].decode() for each in both]
    assert sum(f"127.0.0.1:{port} cannot be used" in text for text in said) == 1
    assert other.returncode == 0


@pytest.mark.django_db(transaction=True)
def test_socket_file_is_taken_over_from_a_server_that_was_killed(
    started: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "socket"
    with closing(socket.socket(socket.AF_UNIX)) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        with pytest.raises(CommandError, match="taken"):
            call_command("serve", f"--bind=unix:{path}")
    assert started == []
    assert path.exists()

    call_command("serve", f"--bind=unix:{path}", stdout=StringIO())

    assert started == [{"uds": path}]
    assert not path.exists()

    path.write_text("theirs")
    with pytest.raises(CommandError, match="taken"):
        call_command("serve", f"--bind=unix:{path}")
    assert path.read_text() == "theirs"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/nowhere/socket", "its folder does not exist"),
        (f"/tmp/{'x' * 103}", "it has more than 107 bytes"),
    ],
)
def test_a_socket_file_that_cannot_be_made_is_told(started: list[Any], path: str, why: str) -> None:
    told = rf"unix:{path} cannot be used \({why}\)\. Choose another address with BIND= or --bind"
    with pytest.raises(CommandError, match=told):
        call_command("serve", f"--bind=unix:{path}")
    assert started == []


@pytest.mark.parametrize(
    ("bind", "hint"),
    [
        ("8407", "did you mean 127.0.0.1:8407?"),
        ("::1:8000", "did you mean [::1]:8000?"),
        ("127.0.0.1:http", "it does not end with the number of a port"),
        ("nonsense", "it does not end with the number of a port"),
        ("127.0.0.1:70000", "0-65535"),
        ("127.0.0.1:0", "it does not end with the number of a port"),
        ("[]:8000", "cannot be empty"),
    ],
)
def test_address_that_is_none_is_named(bind: str, hint: str) -> None:
    for given in (bind, f"--bind={bind}"):
        with pytest.raises(CommandError) as told:
            call_command("serve", given)
        assert f"{bind} cannot be used" in str(told.value)
        assert hint in str(told.value)


@pytest.mark.parametrize(
    ("bind", "address"),
    [
        ("127.0.0.1:8000", {"address": "127.0.0.1", "port": 8000}),
        ("localhost:8001", {"address": "127.0.0.1", "port": 8001}),
        ("[::1]:8002", {"address": "::1", "port": 8002}),
        ("unix:/run/carts.sock", {"uds": Path("/run/carts.sock")}),
    ],
)
def test_the_server_is_told_an_address(bind: str, address: dict[str, Any]) -> None:
    assert address_of(bind) == address
