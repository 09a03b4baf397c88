"""Settings that do not go together do not start, and the error says what to set."""

import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings as configured
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections
from pytest_django import Settings

from cartsvc.checks import check_configuration
from tests.service.test_configuration import PUBLIC as RIGHT
from tests.support.programs import copied, manage
from tests.support.tokens import pem_of, private_key


def private_pem_of(key: Any) -> str:
    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return text.decode()


SECRET, SHARED = RIGHT["SECRET_KEY"], RIGHT["JWT_SIGNING_KEY"]
PUBLIC_KEY = pem_of(ec.generate_private_key(ec.SECP256R1()))
JWKS = {
    "JWT_ALGORITHM": "RS256",
    "JWT_JWK_URL": "https://id.example.com/keys",
    "JWT_ISSUER": "https://id.example.com/",
}
WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "a public host without a database": ("E002", {"IS_PUBLIC": True, "DATABASE_URL": ""}),
    "one secret for both": ("E007", {"SECRET_KEY": SHARED}),
    "no signing key": ("E011", {"JWT_SIGNING_KEY": ""}),
    "short signing key": ("E011", {"JWT_SIGNING_KEY": SHARED[:31]}),
    "a public key to share": ("E011", {"JWT_SIGNING_KEY": PUBLIC_KEY}),
    "no public key": ("E014", {"JWT_ALGORITHM": "RS256"}),
    "two public keys": (
        "E014",
        {**JWKS, "JWT_ALGORITHM": "ES256", "JWT_VERIFYING_KEY": PUBLIC_KEY},
    ),
    "an issuer of any tokens": ("E017", {**JWKS, "JWT_ISSUER": ""}),
    **{
        f"{algorithm} with {name}": ("E015", {"JWT_ALGORITHM": algorithm, "JWT_VERIFYING_KEY": pem})
        for algorithm, name, pem in (
            ("ES256", "something else", "garbled"),
            ("RS256", "a key of a curve", PUBLIC_KEY),
            ("ES256", "a key of RSA", pem_of(rsa.generate_private_key(65537, 2048))),
            ("RS256", "a short key", pem_of(rsa.generate_private_key(65537, 1024))),
            ("ES256", "a private key", private_pem_of(private_key("ES256"))),
            ("ES256", "a certificate", "-----BEGIN CERTIFICATE-----\nMIIB"),
            ("ES256", "the first line of a key", "-----BEGIN PUBLIC KEY-----"),
        )
    },
}


@pytest.mark.parametrize(("check", "changes"), WRONG.values(), ids=WRONG)
def test_half_made_configuration_has_its_check(
    check: str, changes: dict[str, Any], settings: Settings
) -> None:
    settings.SECRET_KEY, settings.JWT_SIGNING_KEY = SECRET, SHARED
    assert [*check_configuration()] == []
    for name, value in changes.items():
        setattr(settings, name, value)
    (message,) = check_configuration()
    assert message.id == f"cartsvc.{check}"
    assert message.is_serious()
    assert message.hint


@pytest.mark.parametrize(
    "program",
    [
        ("manage.py", "check"),
        ("manage.py", "serve"),
        ("-c", "import os; del os.environ['DJANGO_SETTINGS_MODULE']; import cartsvc.wsgi"),
    ],
    ids=["check", "serve", "any server that loads the application"],
)
def test_half_made_configuration_is_refused_with_all_its_hints(program: tuple[str, ...]) -> None:
    wrong = {"JWT_SIGNING_KEY": "", "DATABASE_URL": "", "ALLOWED_HOSTS": "carts.example.com"}
    refused = manage(program=program, **{**RIGHT, **wrong})
    assert refused.returncode != 0
    for check in ("cartsvc.E011", "cartsvc.E002"):
        assert check in refused.stderr
    assert refused.stderr.count("HINT") == 2
    assert "Traceback" not in refused.stderr


def test_a_public_service_has_no_database_that_nobody_has_chosen(tmp_path: Path) -> None:
    before = set(copied(tmp_path).iterdir())
    public = {"ALLOWED_HOSTS": "localhost,carts.example.com"}
    secrets = {"SECRET_KEY": SECRET, "JWT_SIGNING_KEY": SHARED}
    for command, set_already, error in (
        ("check", {}, "The SECRET_KEY setting must not be empty."),  # Django's own
        ("migrate", secrets, "cartsvc.E002"),
        ("serve", secrets, "cartsvc.E002"),
    ):
        refused = manage(command, cwd=tmp_path, **public, **set_already)
        assert refused.returncode == 1
        assert error in refused.stderr
        assert refused.stdout == ""
        assert set(tmp_path.iterdir()) == before
    chosen = f"sqlite:///{tmp_path / 'chosen.sqlite3'}"
    taken = manage("check", ALLOWED_HOSTS="carts.example.com", DATABASE_URL=chosen)
    assert (taken.returncode, taken.stderr) == (0, "")


ES256 = {"JWT_ALGORITHM": "ES256", "JWT_SIGNING_KEY": ""}
ISSUED = {**JWKS, "JWT_SIGNING_KEY": "", "CORS_ALLOWED_ORIGINS": "https://shop.example.com:8443"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {**ES256, "JWT_VERIFYING_KEY": PUBLIC_KEY.replace("\n", "\\n")},
        {**ISSUED, "FORWARDED_ALLOW_IPS": "10.0.0.0/8,::1"},
        {**ISSUED, "JWT_JWK_URL": "http://127.0.0.1:8080/keys"},
    ],
    ids=["HS256", "ES256", "JWKS", "JWKS of loopback"],
)
def test_right_configuration_passes_the_deployment_checks(changes: dict[str, str]) -> None:
    checked = manage("check", "--deploy", "--fail-level", "WARNING", **{**RIGHT, **changes})
    assert checked.returncode == 0
    assert "cartsvc." not in checked.stderr


CONNECTS = "from django.db import connection; print(connection.get_connection_params())"
SHELL = ("shell", "--no-imports", "-c")
COMMAND = ("manage.py", *SHELL, CONNECTS)
SERVING = ("manage.py", *SHELL, f"import cartsvc.wsgi; {CONNECTS}")
# A command waits as long as it takes, but nobody waits behind a migration that waits.
NO_TIMEOUTS = "-c lock_timeout=2000 -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
TIMEOUTS = "-c statement_timeout=3000 -c idle_in_transaction_session_timeout=10000"
POOLED = {"DATABASE_ADMIN_URL": "postgres://cartsvc@db.internal/cartsvc"}
TENANT = {"DATABASE_URL": f"{RIGHT['DATABASE_URL']}?options=-c%20search_path%3Dtenant"}


@pytest.mark.parametrize(
    ("program", "changes", "expected"),
    [
        (COMMAND, {}, [NO_TIMEOUTS]),
        (("-m", "django", *SHELL, CONNECTS), {}, [NO_TIMEOUTS]),
        (SERVING, {}, [TIMEOUTS]),
        (COMMAND, POOLED, [NO_TIMEOUTS, "'host': 'db.internal'"]),
        (SERVING, POOLED, ["'host': '127.0.0.1'"]),
        (COMMAND, TENANT, ["'options': '-c search_path=tenant -c jit=off -c lock_timeout=2000 "]),
    ],
    ids=["command", "python -m", "requests", "past a pooler", "through it", "options of the URL"],
)
def test_requests_have_timeouts_and_go_through_the_pooler_and_commands_do_not(
    program: tuple[str, ...], changes: dict[str, str], expected: list[str]
) -> None:
    found = manage(program=program, **{**RIGHT, **changes}).stdout
    for text in expected:
        assert text in found
    # A pooler refuses them.
    assert ("'options'" in found) == ((program, changes) != (SERVING, POOLED))


def database_checks() -> list[str]:
    """Return the ids of the messages of `manage.py check --database default`."""
    try:
        call_command("check", fail_level="WARNING", tags=["database"], databases=["default"])
    except SystemCheckError as error:
        return [word.strip("(:)") for word in str(error).split() if "cartsvc." in word]
    return []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's texts are in UTF-8")
@pytest.mark.skipif(bool(configured.DATABASE_ADMIN_URL), reason="a pooler knows one database")
@pytest.mark.django_db(transaction=True)
def test_a_database_that_does_not_hold_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"latin_{uuid.uuid4().hex}"
    with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
        cursor.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C'"
            " LC_CTYPE 'C'"
        )
        try:
            connection.close()
            with monkeypatch.context() as patch:
                patch.setitem(connection.settings_dict, "NAME", name)
                assert "cartsvc.E034" in database_checks()
                connection.close()
            assert "cartsvc.E034" not in database_checks()
        finally:
            connection.close()
            cursor.execute(f"DROP DATABASE {name}")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connections to spare")
@pytest.mark.django_db
def test_more_connections_than_postgresql_takes_are_warned_of(settings: Settings) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW max_connections")
        allowed = int(cursor.fetchone()[0])
    url = configured.DATABASE_URL.rpartition("/")[0] + "/postgres"
    found = {**RIGHT, "DATABASE_URL": url, "WEB_CONCURRENCY": "100"}
    checked = manage("check", "--database", "default", **found)
    assert f"hold 1200 connections, and max_connections is {allowed}." in checked.stderr
    settings.DATABASE_ADMIN_URL, settings.THREADS = "", 4
    settings.WEB_CONCURRENCY = allowed // 12
    assert "cartsvc.W035" not in database_checks()
    settings.WEB_CONCURRENCY += 1
    assert "cartsvc.W035" in database_checks()
    settings.DATABASE_ADMIN_URL = settings.DATABASE_URL  # then requests go through a pooler
    assert "cartsvc.W035" not in database_checks()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"CARTS_DAYS": "30"}, "CARTS_DAYS is no setting.\n\tHINT: Is it CART_DAYS?"),
        ({"SECRETKEY_FILE": "/x"}, "SECRETKEY_FILE is no setting.\n\tHINT: Is it SECRET_KEY?"),
        ({"MAX_CART_OPTIONS": "99"}, "MAX_CART_OPTIONS is below MAX_OPTIONS"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "said",
)
def test_what_is_taken_in_silence_is_warned_of(wrong: dict[str, str], said: str) -> None:
    others = {"LANG": "C.UTF-8", "USER": "cartsvc", "INVOCATION_ID": "1", "MAINPID": "1"}
    checked = manage("check", **{**RIGHT, **others, **wrong})
    assert (checked.returncode, checked.stderr.count("WARNING")) == (0, 1)
    assert said in checked.stderr


def test_a_key_that_lost_its_lines_is_told(settings: Settings) -> None:
    settings.JWT_ALGORITHM, settings.JWT_VERIFYING_KEY = "ES256", "-----BEGIN PUBLIC KEY-----"
    (message,) = check_configuration()
    assert "it ends after its first line" in message.msg


def test_tokens_that_open_every_profile_are_warned_of() -> None:
    checked = manage("check", "--deploy", **{**RIGHT, "JWT_REQUIRE_PROFILE": "0"})
    assert "(cartsvc.W043) JWT_REQUIRE_PROFILE is off." in checked.stderr
