"""DATABASE_URL as an operator may write it."""

from typing import Any

import pytest

from cartsvc.db.database_url import database_at

HOSTS = {"HOST": "h1,h2,h3", "PORT": "5432,5433,5434"}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgres://u:p@h:5432/n", {"HOST": "h", "PORT": "5432"}),
        ("postgresql://u:p%40ss@h/n", {"HOST": "h", "PASSWORD": "p@ss"}),
        ("postgres://u:p@h1:5432,h2:5433,h3:5434/n", HOSTS),
        ("postgres://u:p@/n?host=h1,h2,h3&port=5432,5433,5434", HOSTS),
        ("postgres://u:p@/n?host=h1,h2&port=5433", {"HOST": "h1,h2", "PORT": "5433"}),
        ("postgres://u:p@h1:5433,h2/n", {"HOST": "h1,h2", "PORT": "5433,"}),
        ("postgres://u:p@[::1]:5432/n", {"HOST": "::1", "PORT": "5432"}),
        ("postgres://u:p@%2Frun%2Fpostgresql/n", {"HOST": "/run/postgresql"}),
        ("postgres://u:p@h/n?sslmode=require", {"HOST": "h", "OPTIONS": {"sslmode": "require"}}),
    ],
)
def test_what_postgresql_understands(url: str, said: dict[str, Any]) -> None:
    plain = {"NAME": "n", "USER": "u", "PASSWORD": "p", "HOST": "", "PORT": "", "OPTIONS": {}}
    assert database_at(url) == {"ENGINE": "cartsvc.db.postgresql", **plain, **said}


@pytest.mark.parametrize("parameter", ["pgbouncer=true", "schema=public"])
def test_a_parameter_of_other_programs_is_named(parameter: str) -> None:
    name, _, _ = parameter.partition("=")
    with pytest.raises(ValueError, match=f"it has a parameter {name}, which"):
        database_at(f"postgres://u:p@h/n?connect_timeout=1&{parameter}")


def test_a_file_of_sqlite() -> None:
    assert database_at("sqlite:////srv/a%20b.sqlite3")["NAME"] == "/srv/a b.sqlite3"


@pytest.mark.parametrize(
    "url",
    [
        "s3cret",
        "",
        "mysql://u:s3cret@h/n",
        "sqlite://s3cret.sqlite3",
        "sqlite://",
        "sqlite://:memory:",
        "sqlite:////srv/db.sqlite3?mode=ro",
        "sqlite:////srv/db#1.sqlite3",
        "postgres://u:s3cret@h:abc/n",
        "postgres://u:x@s3cret@h/n",
        "postgres://u:x/s3cret@h/n",
        "postgres://u:s3cret%zz@h/n",
        "postgres://u:1/x?s3cret=1@h/n",
        "postgres://u:s3cret@h",
        "postgres://u:s3cret@h/n?nonsense=1",
    ],
)
def test_nonsense_is_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(ValueError, match="it ") as refused:
        database_at(url)
    assert "s3cret" not in str(refused.value)
