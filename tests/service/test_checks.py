"""Settings that do not go together do not start, and the error says what to set."""

import re
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.conf import settings as configured
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections
from pytest_django import Settings

from cartsvc.checks import check_configuration
from tests.service.test_configuration import PUBLIC as RIGHT
from tests.support.programs import manage
from tests.support.tokens import pem_of

ROOT = Path(configured.BASE_DIR)
SECRET, SHARED = RIGHT["SECRET_KEY"], RIGHT["JWT_SIGNING_KEY"]
PUBLIC_KEY = pem_of(ec.generate_private_key(ec.SECP256R1()))
JWKS = {
    "JWT_ALGORITHM": "RS256",
    "JWT_JWK_URL": "https://id.example.com/keys",
    "JWT_ISSUER": "https://id.example.com/",
}
WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "a public host without a database": ("E002", {"IS_PUBLIC": True, "DATABASE_URL_IS_SET": False}),
    "no secret key": ("E001", {"SECRET_KEY_IS_SET": False}),
    "one secret for both": ("E007", {"SECRET_KEY": SHARED}),
    "short signing key": ("E011", {"JWT_SIGNING_KEY": "k" * 31}),
    "shared and public key": ("E013", {"JWT_VERIFYING_KEY": PUBLIC_KEY}),
    "shared key and key address": ("E013", {"JWT_JWK_URL": JWKS["JWT_JWK_URL"]}),
    "no public key": ("E014", {"JWT_ALGORITHM": "RS256"}),
    "two public keys": (
        "E014",
        {**JWKS, "JWT_ALGORITHM": "ES256", "JWT_VERIFYING_KEY": PUBLIC_KEY},
    ),
    "an issuer of any tokens": ("E017", {**JWKS, "JWT_ISSUER": ""}),
    "a rate that nobody counts": ("E031", {"THROTTLE_RATE": "100/min"}),
    "metrics at the address of the service": ("E037", {"METRICS_BIND": "h:9100", "BIND": "h:9100"}),
    **{
        f"{algorithm} with {name}": ("E014", {"JWT_ALGORITHM": algorithm, "JWT_VERIFYING_KEY": pem})
        for algorithm, name, pem in (
            ("ES256", "something else", "garbled"),
            ("RS256", "a key of a curve", PUBLIC_KEY),
            ("ES256", "a key of RSA", pem_of(rsa.generate_private_key(65537, 2048))),
            ("ES256", "another curve", pem_of(ec.generate_private_key(ec.SECP384R1()))),
            ("RS256", "a short key", pem_of(rsa.generate_private_key(65537, 1024))),
        )
    },
}


@pytest.mark.parametrize(("check", "changes"), WRONG.values(), ids=WRONG)
def test_half_made_configuration_has_its_check(
    check: str, changes: dict[str, Any], settings: Settings
) -> None:
    settings.SECRET_KEY, settings.JWT_SIGNING_KEY = SECRET, SHARED
    settings.SECRET_KEY_IS_SET = True
    assert check_configuration() == []
    for name, value in changes.items():
        setattr(settings, name, value)
    (message,) = check_configuration()
    assert message.id == f"cartsvc.{check}"
    assert message.is_serious()
    assert "(cartsvc/README.md, " in message.hint


def test_each_check_has_an_id_of_its_own_and_a_section_to_read() -> None:
    code = (ROOT / "cartsvc/checks.py").read_text()
    ids = re.findall(r'"(?:cartsvc\.)?([EW]\d{3})"', code)
    assert len(ids) == len(set(ids)) > 8
    readme = (ROOT / "cartsvc/README.md").read_text()
    sections = set(re.findall(r'^ +"([A-Z][a-z]+(?: [a-z]+)?)",$', code, re.MULTILINE))
    for section in {"Configuration", "Metrics", *sections}:
        assert f"\n## {section}\n" in readme


def test_half_made_configuration_is_refused_with_all_its_hints() -> None:
    wrong = {
        "SECRET_KEY": "",
        "JWT_SIGNING_KEY": "short",
        "CORS_ALLOWED_ORIGINS": "shop.example.com",
    }
    for command in ("check", "serve"):
        refused = manage(command, **{**RIGHT, **wrong})
        assert refused.returncode != 0
        for check in ("cartsvc.E001", "cartsvc.E011", "corsheaders.E013"):
            assert check in refused.stderr
        assert refused.stderr.count("HINT") == 3
        assert "Traceback" not in refused.stderr


def test_a_public_service_has_no_database_that_nobody_has_chosen(tmp_path: Path) -> None:
    for command in ("check", "migrate", "serve"):
        refused = manage(command, ALLOWED_HOSTS="localhost,carts.example.com")
        assert refused.returncode == 1
        assert "cartsvc.E002" in refused.stderr
        assert refused.stderr.count("HINT: ") == 1
        assert refused.stdout == ""
    chosen = f"sqlite:///{tmp_path / 'chosen.sqlite3'}"
    taken = manage("check", ALLOWED_HOSTS="carts.example.com", DATABASE_URL=chosen)
    assert (taken.returncode, taken.stderr) == (0, "")


ES256 = {"JWT_ALGORITHM": "ES256", "JWT_SIGNING_KEY": ""}
ISSUED = {**JWKS, "JWT_SIGNING_KEY": "", "CORS_ALLOWED_ORIGINS": "https://shop.example.com:8443"}


@pytest.mark.parametrize(
    "changes",
    [
        {"THROTTLE_RATE": "5/10s", "CACHE_URL": "rediss://r/0"},
        {**ES256, "JWT_VERIFYING_KEY": PUBLIC_KEY},
        {**ES256, "JWT_VERIFYING_KEY": PUBLIC_KEY.replace("\n", "\\n")},
        {**ISSUED, "FORWARDED_ALLOW_IPS": "10.0.0.0/8,::1"},
        {**ISSUED, "FORWARDED_ALLOW_IPS": "*", "JWT_JWK_URL": "http://127.0.0.1:8080/keys"},
        {**ISSUED, "JWT_JWK_URL": "http://[::1]:8080/keys"},
    ],
    ids=["HS256", "ES256", "ES256 in one line", "JWKS", "JWKS of loopback", "JWKS of IPv6"],
)
def test_right_configuration_passes_the_deployment_checks(changes: dict[str, str]) -> None:
    checked = manage("check", "--deploy", "--fail-level", "WARNING", **{**RIGHT, **changes})
    assert (checked.returncode, checked.stderr) == (0, "")


def test_any_server_that_loads_the_application_is_refused() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import cartsvc.wsgi"],
        cwd=ROOT,
        env={**RIGHT, "SECRET_KEY": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert loaded.returncode != 0
    assert "cartsvc.E001" in loaded.stderr
    assert "Traceback" not in loaded.stderr


CONNECTS = "from django.db import connection; print(connection.get_connection_params())"
POOLED = {**RIGHT, "DATABASE_ADMIN_URL": "postgres://cartsvc@db.internal/cartsvc"}
SERVING = f"import cartsvc.wsgi; {CONNECTS}"


@pytest.mark.parametrize("program", [["manage.py"], ["-m", "django"]], ids=" ".join)
def test_a_command_has_no_timeouts_of_requests_however_it_is_started(program: list[str]) -> None:
    found = manage("shell", "--no-imports", "-c", CONNECTS, program=program, **RIGHT).stdout
    assert "-c statement_timeout=0 " in found
    assert "-c idle_in_transaction_session_timeout=0" in found
    assert "-c lock_timeout=2000" in found  # nobody waits behind a migration that waits


def test_what_serves_has_timeouts() -> None:
    found = manage("shell", "--no-imports", "-c", SERVING, **RIGHT).stdout
    assert "-c statement_timeout=3000 " in found
    assert "-c idle_in_transaction_session_timeout=10000" in found


def test_a_command_goes_past_the_pooler_and_requests_go_through_it() -> None:
    found = manage("shell", "--no-imports", "-c", CONNECTS, **POOLED).stdout
    assert "'host': 'db.internal'" in found
    assert "-c statement_timeout=0 " in found
    found = manage("shell", "--no-imports", "-c", SERVING, **POOLED).stdout
    assert "'host': '127.0.0.1'" in found
    assert "'options'" not in found  # a pooler refuses them


def test_options_of_the_url_are_kept_beside_ours() -> None:
    url = f"{RIGHT['DATABASE_URL']}?options=-c%20search_path%3Dtenant"
    found = manage("shell", "--no-imports", "-c", CONNECTS, **{**RIGHT, "DATABASE_URL": url})
    assert "'options': '-c search_path=tenant -c jit=off -c lock_timeout=2000 " in found.stdout


def database_checks() -> list[str]:
    """Return the ids of the messages of `manage.py check --database default`."""
    try:
        call_command("check", fail_level="WARNING", tags=["database"], databases=["default"])
    except SystemCheckError as error:
        return [word.strip("(:)") for word in str(error).split() if "cartsvc." in word]
    return []


def test_more_threads_than_connections(db: None, settings: Settings) -> None:
    settings.WEB_CONCURRENCY, settings.THREADS, settings.DATABASE_ADMIN_URL = 1, 1, ""
    assert database_checks() == []
    settings.WEB_CONCURRENCY = 100_000
    expected = ["cartsvc.W030"] if connection.vendor == "postgresql" else []
    assert database_checks() == expected
    settings.DATABASE_ADMIN_URL = "postgres://past-the-pooler"  # which lends one to many
    assert database_checks() == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions")
def test_a_session_that_is_not_what_was_asked_for(
    db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEB_CONCURRENCY, settings.THREADS = 1, 1
    asked_for = {"jit": "off", "lock_timeout": "2000"}
    monkeypatch.setitem(connection.settings_dict, "SESSION", asked_for)
    assert database_checks() == []
    asked_for.update(jit="on", lock_timeout="2001")
    with pytest.raises(SystemCheckError) as refused:
        call_command("check", tags=["database"], databases=["default"])
    assert "SET jit = 'on'" in str(refused.value)
    assert "SET lock_timeout = '2001'" in str(refused.value)


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
                assert "cartsvc.E035" in database_checks()
                connection.close()
            assert "cartsvc.E035" not in database_checks()
        finally:
            connection.close()
            cursor.execute(f"DROP DATABASE {name}")
