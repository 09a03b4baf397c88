"""Half-made configurations do not start, and say what to set."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from pytest_django import Settings

from cartsvc.checks import check_configuration

ROOT = Path(configured.BASE_DIR)
SECRET = "s3cret-of-fifty-characters-and-more-0123456789-abcdefghij"
RIGHT = {
    "DATABASE_URL": "postgres://cartsvc@127.0.0.1/cartsvc",
    "SECRET_KEY": SECRET,
    "JWT_SIGNING_KEY": SECRET,
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
        timeout=60,
    )


WRONG = {
    "no secret key": ({"SECRET_KEY_IS_SET": False}, "cartsvc.E001"),
    "short secret key": ({"SECRET_KEY": "short"}, "cartsvc.E002"),
    "every host": ({"ALLOWED_HOSTS": ["*"]}, "cartsvc.E003"),
    "no host": ({"ALLOWED_HOSTS": []}, "cartsvc.E004"),
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
    "open key address": (
        {"JWT_ALGORITHM": "RS256", "JWT_JWK_URL": "http://id.example.com/keys"},
        "cartsvc.E016",
    ),
    "no items": ({"MAX_ITEMS": 0}, "cartsvc.E020"),
}


@pytest.mark.parametrize(("changes", "check"), WRONG.values(), ids=WRONG)
def test_half_made_configuration_has_its_check(
    changes: dict[str, Any], check: str, settings: Settings
) -> None:
    settings.SECRET_KEY = settings.JWT_SIGNING_KEY = SECRET
    settings.SECRET_KEY_IS_SET = True
    settings.ALLOWED_HOSTS = ["carts.example.com"]
    assert check_configuration() == []
    for name, value in changes.items():
        setattr(settings, name, value)
    (message,) = check_configuration()
    assert message.id == check
    assert message.is_serious()
    assert message.hint


def test_half_made_configuration_is_refused_with_all_its_hints() -> None:
    wrong = {"SECRET_KEY": "", "ALLOWED_HOSTS": "*", "JWT_SIGNING_KEY": "short"}
    for command in ("check", "serve", "migrate"):
        refused = manage(command, **{**RIGHT, **wrong})
        assert refused.returncode != 0
        for check in ("cartsvc.E001", "cartsvc.E003", "cartsvc.E012"):
            assert check in refused.stderr
        assert refused.stderr.count("HINT") == 3
        assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "maybe"),
        ("MAX_ITEMS", "many"),
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
            "JWT_ALGORITHM": "RS256",
            "JWT_SIGNING_KEY": "",
            "JWT_JWK_URL": "https://id.example.com/keys",
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
        timeout=60,
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
