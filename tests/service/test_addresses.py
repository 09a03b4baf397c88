"""The addresses at which `manage.py serve` listens, and those that it refuses."""

import socket
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from cartsvc.serving.addresses import free_address
from tests.support.programs import free_port


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


@pytest.mark.django_db(transaction=True)
def test_a_service_that_lets_others_share_its_port_is_found(started: list[Any]) -> None:
    """As the server's own workers do."""
    with closing(socket.socket()) as theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        theirs.bind(("127.0.0.1", 0))
        theirs.listen()
        with pytest.raises(CommandError, match="in use"):
            call_command("serve", f"--bind=127.0.0.1:{theirs.getsockname()[1]}")
    assert started == []


@pytest.mark.django_db(transaction=True)
def test_socket_file_is_taken_over_from_a_server_that_was_killed(
    started: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "socket"
    with closing(socket.socket(socket.AF_UNIX)) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        with pytest.raises(CommandError, match="in use"):
            call_command("serve", f"--bind=unix:{path}")
    assert started == []
    assert path.exists()

    call_command("serve", f"--bind=unix:{path}", stdout=StringIO())

    assert started == [{"uds": path}]
    assert not path.exists()

    path.write_text("theirs")
    with pytest.raises(CommandError, match="in use"):
        call_command("serve", f"--bind=unix:{path}")
    assert path.read_text() == "theirs"


@pytest.mark.parametrize(
    ("bind", "error"),
    [
        ("unix:/nowhere/socket", "No such file or directory"),
        (f"unix:/tmp/{'x' * 103}", "too long"),
        ("8407", "it is neither HOST:PORT, such as [::1]:8000, nor unix:/path"),
        ("127.0.0.1:http", "Port could not be cast"),
        ("127.0.0.1:0", "it is neither HOST:PORT"),
        ("203.0.113.1:8000", "Cannot assign requested address"),
    ],
)
def test_address_that_cannot_be_used_is_named(started: list[Any], bind: str, error: str) -> None:
    with pytest.raises(CommandError) as raised:
        call_command("serve", f"--bind={bind}")
    assert f"{bind} cannot be used" in str(raised.value)
    assert "Choose another address with BIND= or --bind HOST:PORT." in str(raised.value)
    assert error in str(raised.value)
    assert started == []


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("[::1]", "::1")],
)
def test_the_server_listens_at_an_address(host: str, address: str) -> None:
    port = free_port()
    assert free_address(f"{host}:{port}") == {"address": address, "port": port}
