"""DATABASE_URL as an operator may write it."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from cartsvc.db.database_url import database_at

HOSTS = {"HOST": "h1,h2,h3", "PORT": "5432,5433,5434"}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgres://u:p@h:5432/n", {"HOST": "h", "PORT": "5432"}),
        ("postgresql://u:p%40ss@h/n", {"HOST": "h", "PASSWORD": "p@ss"}),
        ("postgres://u:p@h1:5432,h2:5433,h3:5434/n", HOSTS),
        ("postgres://u:p@/n?host=h1,h2,h3&port=5432,5433,5434", HOSTS),
        ("postgres://u:p@[::1]:5432/n", {"HOST": "::1", "PORT": "5432"}),
        ("postgres://u:p@%2Frun%2Fpostgresql/n", {"HOST": "/run/postgresql"}),
        ("postgres://u:p@h/n?sslmode=require", {"HOST": "h", "OPTIONS": {"sslmode": "require"}}),
    ],
)
def test_what_postgresql_understands(url: str, said: dict[str, Any]) -> None:
    plain = {"NAME": "n", "USER": "u", "PASSWORD": "p", "HOST": "", "PORT": "", "OPTIONS": {}}
    assert database_at(url) == {"ENGINE": "cartsvc.db.postgresql", **plain, **said}


def test_what_is_wrong_is_said_by_the_library() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"DATABASE_URL: invalid URI query parameter\."):
        database_at("postgres://u:p@h/n?pgbouncer=true")


def test_a_file_of_sqlite() -> None:
    assert database_at("sqlite:////srv/a%20b.sqlite3")["NAME"] == "/srv/a b.sqlite3"


@pytest.mark.parametrize(
    "url",
    [
        "s3cret",
        "mysql://u:s3cret@h/n",
        "sqlite://s3cret.sqlite3",
        "sqlite:////srv/db.sqlite3?mode=ro",
        "sqlite:////srv/db#1.sqlite3",
        "postgres://u:s3cret@h:abc/n",
        "postgres://u:x@s3cret@h/n",
        "postgres://u:x/s3cret@h/n",
        "postgres://u:s3cret%zz@h/n",
        "postgres://u:s3cret@h/n?nonsense=1",
    ],
)
def test_nonsense_is_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as raised:
        database_at(url)
    assert "s3cret" not in str(raised.value)
