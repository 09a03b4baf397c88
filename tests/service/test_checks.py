"""An incomplete configuration does not start, and the error says what to set."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.conf import settings as configured
from pytest_django import Settings

from cartsvc.checks import POSITIVE, check_configuration
from tests.support.tokens import pem_of

ROOT = Path(configured.BASE_DIR)
SECRET = "s3cret-of-fifty-characters-and-more-0123456789-abcdefghij"
SHARED = "another-s3cret-of-fifty-characters-0123456789-abcdefghij"
RIGHT = {
    "DATABASE_URL": "postgres://cartsvc@127.0.0.1/cartsvc",
    "SECRET_KEY": SECRET,
    "JWT_SIGNING_KEY": SHARED,
    "ALLOWED_HOSTS": "carts.example.com",
}
PUBLIC_KEY = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9
q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==
-----END PUBLIC KEY-----"""


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


JWKS = {
    "JWT_ALGORITHM": "RS256",
    "JWT_JWK_URL": "https://id.example.com/keys",
    "JWT_ISSUER": "https://id.example.com/",
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no secret key": ({"SECRET_KEY_IS_SET": False}, "cartsvc.E001"),
    "short secret key": ({"SECRET_KEY": "short"}, "cartsvc.E002"),
    "every host": ({"ALLOWED_HOSTS": ["*"]}, "cartsvc.E003"),
    "no host": ({"ALLOWED_HOSTS": []}, "cartsvc.E004"),
    "an address for a host": ({"ALLOWED_HOSTS": ["https://a.example.com"]}, "cartsvc.E036"),
    "a host with a port": ({"ALLOWED_HOSTS": ["a.example.com:443"]}, "cartsvc.E036"),
    "a wildcard in a host": ({"ALLOWED_HOSTS": ["*.example.com"]}, "cartsvc.E036"),
    "two hosts and no comma": ({"ALLOWED_HOSTS": ["a.example.com b.example.com"]}, "cartsvc.E036"),
    "a name for a proxy": ({"FORWARDED_ALLOW_IPS": ["nginx"]}, "cartsvc.E038"),
    "a proxy that is none": ({"FORWARDED_ALLOW_IPS": ["10.0.0.300"]}, "cartsvc.E038"),
    "debug in public": ({"DEBUG": True}, "cartsvc.E005"),
    "unknown algorithm": ({"JWT_ALGORITHM": "none"}, "cartsvc.E010"),
    "no signing key": ({"JWT_SIGNING_KEY": ""}, "cartsvc.E011"),
    "short signing key": ({"JWT_SIGNING_KEY": "k" * 31}, "cartsvc.E012"),
    "shared and public key": ({"JWT_VERIFYING_KEY": PUBLIC_KEY}, "cartsvc.E013"),
    "no public key": ({"JWT_ALGORITHM": "RS256"}, "cartsvc.E014"),
    "two public keys": (
        {
            "JWT_ALGORITHM": "ES256",
            "JWT_VERIFYING_KEY": PUBLIC_KEY,
            "JWT_JWK_URL": "https://id.example.com/keys",
        },
        "cartsvc.E014",
    ),
    "garbled public key": (
        {"JWT_ALGORITHM": "ES256", "JWT_VERIFYING_KEY": "garbled"},
        "cartsvc.E015",
    ),
    **{
        f"{algorithm} with {name}": (
            {"JWT_ALGORITHM": algorithm, "JWT_VERIFYING_KEY": pem},
            "cartsvc.E015",
        )
        for algorithm, name, pem in (
            ("RS256", "a key of a curve", pem_of(ec.generate_private_key(ec.SECP256R1()))),
            ("ES256", "a key of RSA", pem_of(rsa.generate_private_key(65537, 2048))),
            ("ES256", "another curve", pem_of(ec.generate_private_key(ec.SECP384R1()))),
            ("RS256", "a short key", pem_of(rsa.generate_private_key(65537, 1024))),
        )
    },
    "shared key and key address": (
        {"JWT_JWK_URL": "https://id.example.com/keys"},
        "cartsvc.E013",
    ),
    "an issuer of any tokens": ({**JWKS, "JWT_ISSUER": ""}, "cartsvc.E017"),
    "an hour of leeway": ({"JWT_LEEWAY": 301}, "cartsvc.E018"),
    "negative leeway": ({"JWT_LEEWAY": -1}, "cartsvc.E018"),
    "one character for a secret": ({"SECRET_KEY": "x" * 64}, "cartsvc.E006"),
    "one secret for both": ({"SECRET_KEY": SHARED}, "cartsvc.E007"),
    "one character for a key": ({"JWT_SIGNING_KEY": "x" * 64}, "cartsvc.E019"),
    **{
        f"every host under {host}": ({"ALLOWED_HOSTS": ["a.example.com", host]}, "cartsvc.E008")
        for host in (".com", ".com.", ".", ".localhost")
    },
    **{
        f"the origin {origin}": ({"CORS_ALLOWED_ORIGINS": [origin]}, "cartsvc.E009")
        for origin in (
            "*",
            "null",
            "file://",
            "shop.example.com",
            "//shop.example.com",
            "https://",
            "https://*.example.com",
            "https://Shop.example.com",
            "https://shop.example.com/",
            "https://shop.example.com/carts",
            "https://shop.example.com?",
            "https://user@shop.example.com",
            "https://shop.example.com:443",
            "http://shop.example.com:80",
            "https://shop.example.com:",
            "https://shop.example.com:port",
            "https://shop.example.com https://www.example.com",
            "https://shop.example.com\n",
            "https://münchen.example",
            "https://[::1",
        )
    },
    **{
        f"keys from {url}": ({**JWKS, "JWT_JWK_URL": url}, "cartsvc.E016")
        for url in (
            "http://id.example.com/keys",
            "http://localhost.evil.example/keys",
            "http://127.0.0.1.evil.example/keys",
            "http://127.0.0.1@evil.example/keys",
            "https://id.example.com@evil.example/keys",
            "http://127.0.0.2/keys",
            "https:///keys",
            "https://id.example.com:port/keys",
            "https://[id/keys",
            "file:///etc/passwd",
            "id.example.com",
        )
    },
    **{f"no {name}": ({name: 0}, "cartsvc.E020") for name in POSITIVE},
    **{
        f"{name} of {value}": ({name: value}, "cartsvc.E021")
        for name, value in (
            ("DB_CONNECT_TIMEOUT", -1),
            ("DB_LOCK_TIMEOUT", -0.1),
            ("DB_STATEMENT_TIMEOUT", float("nan")),
            ("DB_IDLE_TIMEOUT", float("inf")),
            ("DB_PREPARE_THRESHOLD", -1),
            ("DRAIN_SECONDS", -1),
        )
    },
}


@pytest.mark.parametrize(("changes", "check"), WRONG.values(), ids=WRONG)
def test_half_made_configuration_has_its_check(
    changes: dict[str, Any], check: str, settings: Settings
) -> None:
    settings.SECRET_KEY, settings.JWT_SIGNING_KEY = SECRET, SHARED
    settings.SECRET_KEY_IS_SET = True
    settings.ALLOWED_HOSTS = ["carts.example.com"]
    assert check_configuration() == []
    for name, value in changes.items():
        setattr(settings, name, value)
    (message,) = check_configuration()
    assert message.id == check
    assert message.is_serious()
    assert message.hint.endswith("(cartsvc/README.md, Configuration)")


@pytest.mark.parametrize(
    "url",
    [
        "https://id.example.com/keys",
        "http://127.0.0.1:8080/keys",
        "http://localhost/keys",
        "http://[::1]:8080/keys",
    ],
)
def test_keys_come_over_tls_or_from_this_machine(url: str, settings: Settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_IS_SET = SECRET, True
    settings.ALLOWED_HOSTS = [".example.com"]
    for name, value in {**JWKS, "JWT_JWK_URL": url}.items():
        setattr(settings, name, value)
    assert check_configuration() == []


@pytest.mark.parametrize(
    "origin",
    [
        "https://shop.example.com",
        "https://shop.example.com:8443",
        "http://localhost:3000",
        "http://127.0.0.1:443",
        "http://[::1]:3000",
        "https://xn--mnchen-3ya.example",
        "capacitor://localhost",
    ],
)
def test_an_origin_as_browsers_send_it(origin: str, settings: Settings) -> None:
    settings.CORS_ALLOWED_ORIGINS = [origin]
    assert check_configuration() == []


def test_each_check_has_an_id_of_its_own_and_a_section_to_read() -> None:
    modules = ROOT / "cartsvc/checks.py", ROOT / "cartsvc/api/checks.py"
    code = "".join(module.read_text() for module in modules)
    ids = re.findall(r'id="(cartsvc\.[EW]\d{3})"', code)
    assert len(ids) == len(set(ids)) > 20
    readme = (ROOT / "cartsvc/README.md").read_text()
    for section in set(re.findall(r"\(cartsvc/README\.md, ([\w ]+)\)", code)):
        assert f"\n## {section}\n" in readme


def test_half_made_configuration_is_refused_with_all_its_hints() -> None:
    wrong = {"SECRET_KEY": "", "ALLOWED_HOSTS": "*", "JWT_SIGNING_KEY": "short"}
    for command in ("check", "serve", "migrate"):
        refused = manage(command, **{**RIGHT, **wrong})
        assert refused.returncode != 0
        for check in ("cartsvc.E001", "cartsvc.E003", "cartsvc.E012"):
            assert check in refused.stderr
        # `migrate` also looks whether the database is there, which here it may not be.
        missing = refused.stderr.count("cartsvc.E039") if command == "migrate" else 0
        assert refused.stderr.count("HINT") == 3 + missing
        assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "maybe"),
        ("MAX_ITEMS", "many"),
        ("DB_STATEMENT_TIMEOUT", "soon"),
        ("DB_IDLE_TIMEOUT", "soon"),
        ("DATABASE_URL", "nonsense://x"),
        ("DATABASE_URL", "mysql://x/y"),
        ("CACHE_URL", "pymemcache://127.0.0.1:11211"),
        ("CACHE_URL", "127.0.0.1:6379"),
    ],
)
def test_unreadable_setting_is_named(name: str, value: str) -> None:
    checked = manage("check", **{**RIGHT, name: value})
    assert checked.returncode != 0
    assert name in checked.stderr or value.partition(":")[0] in checked.stderr
    assert "Traceback" not in checked.stderr


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"JWT_ALGORITHM": "ES256", "JWT_SIGNING_KEY": "", "JWT_VERIFYING_KEY": PUBLIC_KEY},
        {
            "JWT_ALGORITHM": "ES256",
            "JWT_SIGNING_KEY": "",
            "JWT_VERIFYING_KEY": PUBLIC_KEY.replace("\n", "\\n"),
        },
        {
            **JWKS,
            "JWT_SIGNING_KEY": "",
        },
    ],
    ids=["HS256", "ES256", "ES256 in one line", "JWKS"],
)
def test_right_configuration_passes_the_deployment_checks(changes: dict[str, str]) -> None:
    checked = manage("check", "--deploy", "--fail-level", "WARNING", **{**RIGHT, **changes})
    assert checked.stderr == ""
    assert checked.returncode == 0


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


def test_https_is_on_for_public_hosts_and_off_for_loopback() -> None:
    show = "from django.conf import settings; print(settings.HTTPS_ONLY)"
    assert "True" in manage("shell", "--no-imports", "-c", show, **RIGHT).stdout
    local = {**RIGHT, "ALLOWED_HOSTS": "localhost,127.0.0.1"}
    assert "False" in manage("shell", "--no-imports", "-c", show, **local).stdout
    chosen = {**RIGHT, "HTTPS_ONLY": "false"}
    assert "False" in manage("shell", "--no-imports", "-c", show, **chosen).stdout


POOLED = {**RIGHT, "DB_POOLER": "1"}


@pytest.mark.parametrize("command", ["check", "migrate", "purge_carts --older-than 1d"])
def test_a_command_does_not_go_through_a_pooler(command: str) -> None:
    refused = manage(*command.split(), **POOLED)
    assert refused.returncode != 0
    assert "cartsvc.E033" in refused.stderr
    assert "Set DATABASE_ADMIN_URL" in refused.stderr


@pytest.mark.parametrize("name", ["DB_STATEMENT_TIMEOUT", "DB_IDLE_TIMEOUT"])
def test_check_judges_the_timeouts_that_serve_would_have(name: str) -> None:
    for command in ("check", "serve"):
        refused = manage(command, **{**RIGHT, name: "-1"})
        assert refused.returncode == 1
        assert f"{name} is -1" in refused.stderr


def test_a_command_goes_past_the_pooler() -> None:
    settings = manage(
        "shell",
        "--no-imports",
        "-c",
        "from django.db import connection; print(connection.get_connection_params())",
        **{**POOLED, "DATABASE_ADMIN_URL": "postgres://cartsvc@db.internal/cartsvc"},
    )
    assert "'host': 'db.internal'" in settings.stdout
    assert "-c statement_timeout=0" in settings.stdout


def test_options_of_the_url_are_kept_beside_ours() -> None:
    url = f"{RIGHT['DATABASE_URL']}?options=-c%20search_path%3Dtenant"
    settings = manage(
        "shell",
        "--no-imports",
        "-c",
        "from django.db import connection; print(connection.get_connection_params()['options'])",
        **{**RIGHT, "DATABASE_URL": url},
    )
    assert settings.stdout.startswith("-c search_path=tenant -c jit=off -c lock_timeout=2000 ")
