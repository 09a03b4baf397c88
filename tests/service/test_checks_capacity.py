import uuid
from contextlib import closing
from typing import Any

import pytest
from django.conf import settings as app_settings
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections


def ids(**options: Any) -> list[str]:
    """Return the ids of the messages of `manage.py check`."""
    try:
        call_command("check", fail_level="WARNING", **options)
    except SystemCheckError as error:
        return [word.strip("(:)") for word in str(error).split() if "cartsvc." in word]
    return []


def test_more_threads_than_connections(db: None, settings: Any) -> None:
    settings.WEB_CONCURRENCY, settings.THREADS, settings.DATABASE_ADMIN_URL = 1, 1, ""
    assert ids(tags=["database"], databases=["default"]) == []
    settings.WEB_CONCURRENCY = 100_000
    expected = ["cartsvc.W030"] if connection.vendor == "postgresql" else []
    assert ids(tags=["database"], databases=["default"]) == expected
    settings.DATABASE_ADMIN_URL = "postgres://past-the-pooler"  # which lends one to many
    assert ids(tags=["database"], databases=["default"]) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions")
def test_a_session_that_is_not_what_was_asked_for(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEB_CONCURRENCY, settings.THREADS = 1, 1
    asked_for = {"jit": "off", "lock_timeout": "2000"}
    monkeypatch.setitem(connection.settings_dict, "SESSION", asked_for)
    assert ids(tags=["database"], databases=["default"]) == []
    asked_for.update(jit="on", lock_timeout="2001")
    with pytest.raises(SystemCheckError) as refused:
        call_command("check", tags=["database"], databases=["default"])
    assert "SET jit = 'on'" in str(refused.value)
    assert "SET lock_timeout = '2001'" in str(refused.value)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's texts are in UTF-8")
@pytest.mark.skipif(bool(app_settings.DATABASE_ADMIN_URL), reason="a pooler knows one database")
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
                assert "cartsvc.E035" in ids(tags=["database"], databases=["default"])
                connection.close()
            assert "cartsvc.E035" not in ids(tags=["database"], databases=["default"])
        finally:
            connection.close()
            cursor.execute(f"DROP DATABASE {name}")
