"""What the environment says: every variable is documented, and a wrong one is refused by name."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from cartsvc.environment_variables import generated_secret, usable_cores
from tests.support.programs import manage

SETTINGS = settings.BASE_DIR / "cartsvc/settings.py"
README = settings.BASE_DIR / "cartsvc/README.md"


def test_every_variable_is_documented_and_there_are_few() -> None:
    variables = re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', SETTINGS.read_text())
    documented = re.findall(r"^\| `([A-Z_]+)` \|", README.read_text(), re.MULTILINE)

    assert sorted(variables) == sorted(documented)
    assert len(variables) <= 28


def test_the_file_of_the_readme_can_be_used() -> None:
    """systemd takes a comment after a value as part of it."""
    larger = README.parent / "deploy/README.md"
    lines = (README.read_text() + larger.read_text()).splitlines()
    values = [line.strip() for line in lines if re.match(r" *[A-Z_]+=", line)]
    assert "BIND=10.0.0.1:8000" in values
    assert not [value for value in values if re.search(r"\s#", value)]

    block = README.read_text().partition("> /etc/cartsvc.env) <<END\n")[2].partition("END\n")[0]
    file = dict(line.split("=", 1) for line in block.splitlines())
    checked = manage("check", **file | {"SECRET_KEY": "s3cret" * 10})
    assert (checked.returncode, checked.stderr) == (0, "")


# What stands in one dictionary is tried at once.
WRONG = [
    {
        "MAX_BODY_BYTES": ("1k", "must be a whole number from 1024 to 16777216, not '1k'."),
        "MAX_ITEMS": (
            "9223372036854775808",
            "must be a whole number from 1 to 10000, not 9223372036854775808.",
        ),
        "MAX_OPTIONS": ("many", "must be a whole number from 1 to 10000, not 'many'."),
        "MAX_CART_OPTIONS": ("0", "must be a whole number from 1 to 100000, not 0."),
        "CART_DAYS": ("-1", "must be a whole number from 0 to 36500, not -1."),
        "ORDERED_CART_DAYS": ("36501", "must be a whole number from 0 to 36500, not 36501."),
        "WEB_CONCURRENCY": ("0", "must be a whole number from 1 to 1000, not 0."),
        "THREADS": ("-1", "must be a whole number from 1 to 1000, not -1."),
        "HTTPS_ONLY": ("maybe", "must be 1 or 0."),
        "JWT_REQUIRE_PROFILE": ("maybe", "must be 1 or 0."),
        "JWT_ALGORITHM": ("none", "Must be one of: HS256, RS256, ES256."),
        "JWT_JWK_URL": ("http://127.0.0.1@evil.example/keys", "must be an https:// address"),
        "SECRET_KEY": ("short", "must have 32 random characters"),
        "JWT_SIGNING_KEY": ("k" * 64, "must have 32 random characters"),
        "ALLOWED_HOSTS": ("a.example.com,*", "must list names such as api.example.com"),
        "CORS_ALLOWED_ORIGINS": ("https://a.example, https://b.example:443", "b.example:443'"),
        "FORWARDED_ALLOW_IPS": ("10.0.0.9,nginx", "'nginx' does not appear to be"),
        "METRICS_BIND": (":9100", "must be such as 127.0.0.1:9100."),
        "RESTAURANT_URL": (
            "https://crm.example.com/",
            "must be such as https://crm.example.com/{key}.",
        ),
        "CUSTOMER_URL": (
            "javascript:alert({key})",
            "must be such as https://crm.example.com/{key}.",
        ),
    },
    {
        "JWT_JWK_URL": ("http://id.example.com/keys", "must be an https:// address"),
        "ALLOWED_HOSTS": (".com", "not '.com'"),
        "CORS_ALLOWED_ORIGINS": ("https://Shop.example.com", "in lower case and ASCII"),
    },
    {
        "ALLOWED_HOSTS": ("https://a.example.com", "not 'https://a.example.com'"),
        "CORS_ALLOWED_ORIGINS": ("https://*.example.com", "*.example.com'"),
        "JWT_JWK_URL": ("https://[id/keys", "must be an https:// address"),
    },
    {
        "CORS_ALLOWED_ORIGINS": ("https://käse.example.com", "käse.example.com'"),
        "JWT_JWK_URL": ("file:///etc/passwd", "must be an https:// address"),
    },
    {"DATABASE_URL": ("mysql://x/y", "must begin with postgres:// or sqlite:///.")},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{next(iter(wrong))} and more")
def test_all_that_is_wrong_is_named_at_once(wrong: dict[str, tuple[str, str]]) -> None:
    checked = manage("check", **{name: value for name, (value, _) in wrong.items()})

    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    assert "The configuration cannot be used" in checked.stderr
    for name, (_, error) in wrong.items():
        # An error's text follows its name, before the bracket that ends the texts of one name.
        assert re.search(rf"{name}\b[^\]]*{re.escape(error)}", checked.stderr), name


def shown(expression: str, **environment: str) -> Any:
    """Return what the settings say, as text."""
    program = f"from django.conf import settings; print({expression})"
    ran = manage("shell", "--no-imports", "-c", program, **environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


PUBLIC = {
    "DATABASE_URL": "postgres://cartsvc@127.0.0.1/cartsvc",
    "SECRET_KEY": "s3cret-of-fifty-characters-and-more-0123456789-abcdefghij",
    "JWT_SIGNING_KEY": "another-s3cret-of-32-characters.",  # the fewest
    "ALLOWED_HOSTS": "carts.example.com, .example.com",
}


def test_a_value_may_stand_in_a_file(tmp_path: Path) -> None:
    files = {f"{name}_FILE": str(tmp_path / name) for name in ("SECRET_KEY", "DATABASE_URL")}
    (tmp_path / "SECRET_KEY").write_text(f"{PUBLIC['SECRET_KEY']}\n")
    (tmp_path / "DATABASE_URL").write_text("postgres://cartsvc@db.internal/of-the-file\n")
    values = "settings.SECRET_KEY, settings.DATABASE['NAME']"
    others = {name: PUBLIC[name] for name in ("JWT_SIGNING_KEY", "ALLOWED_HOSTS")}
    assert shown(values, **others, **files) == f"{PUBLIC['SECRET_KEY']} of-the-file"


@pytest.mark.parametrize(
    ("changes", "security"),
    [
        ({}, "True True 604800"),  # seconds that browsers remember it for
        ({"HTTPS_ONLY": "false"}, "True False 0"),
        ({"JWT_REQUIRE_PROFILE": "0"}, "False True 604800"),
        ({"ALLOWED_HOSTS": "localhost,127.0.0.1"}, "False False 0"),
    ],
)
def test_public_hosts_ask_for_a_profile_and_https_unless_told(
    changes: dict[str, str], security: str
) -> None:
    show = "settings.JWT_REQUIRE_PROFILE, settings.HTTPS_ONLY, settings.SECURE_HSTS_SECONDS"
    assert shown(show, **{**PUBLIC, **changes}) == security


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("50000 100000", 1), ("150000 100000", 2), ("400000 100000", 3), ("max 100000", 3), (None, 3)],
)
def test_only_cores_that_the_process_may_use_get_a_worker(
    quota: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its affinity, and by the quota that a container sees as its own."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    if quota:
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert usable_cores(tmp_path / "cpu.max") == cores


def test_no_process_sees_a_secret_that_is_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: f"made {path.exists()}")
    assert [generated_secret(path) for _ in range(2)] == ["made False"] * 2
    assert [(file.name, file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == [
        ("secret", 0o600)
    ]
