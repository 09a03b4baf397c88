import uuid
from contextlib import closing
from typing import Any

import pytest
from django.conf import settings as app_settings
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections

REDIS = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": ""}}


def ids(**options: Any) -> list[str]:
    """Return the ids of the messages of `manage.py check`."""
    try:
        call_command("check", fail_level="WARNING", **options)
    except SystemCheckError as error:
        return [word.strip("(:)") for word in str(error).split() if "cartsvc." in word]
    return []


@pytest.mark.parametrize("rate", ["", "100/min", "5/10s", "1/d"])
def test_a_rate_with_a_cache_that_counts(settings: Any, rate: str) -> None:
    settings.THROTTLE_RATE, settings.CACHES = rate, REDIS
    assert ids(tags=["security"]) == []


@pytest.mark.parametrize(
    "rate", ["100", "many/min", "0/min", "10/fortnight", "-1/s", "5/0s", "٥/s"]
)
def test_a_rate_that_says_nothing(settings: Any, rate: str) -> None:
    settings.THROTTLE_RATE, settings.CACHES = rate, REDIS
    assert ids(tags=["security"]) == ["cartsvc.E030"]


@pytest.mark.parametrize("backend", ["locmem.LocMemCache", "db.DatabaseCache", "dummy.DummyCache"])
def test_a_cache_that_cannot_count_for_all_workers(settings: Any, backend: str) -> None:
    settings.THROTTLE_RATE = "100/min"
    settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{backend}"}}
    assert ids(tags=["security"]) == ["cartsvc.E031"]


@pytest.mark.parametrize(
    "address", ["9100", ":9100", "localhost", "127.0.0.1:http", "127.0.0.1:65536"]
)
def test_metrics_at_no_address(settings: Any, address: str) -> None:
    settings.METRICS_BIND = address
    assert ids(tags=["security"]) == ["cartsvc.E032"]


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7", "localhost", "metrics.internal"])
def test_metrics_on_one_interface(settings: Any, host: str) -> None:
    settings.METRICS_BIND = f"{host}:9100"
    assert ids(tags=["security"]) == []


def test_metrics_at_the_address_of_the_service(settings: Any) -> None:
    settings.METRICS_BIND = settings.BIND = "127.0.0.1:9100"
    assert ids(tags=["security"]) == ["cartsvc.E037"]


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "0.0", "0x0"])
def test_metrics_on_every_interface(settings: Any, host: str) -> None:
    settings.METRICS_BIND = f"{host}:9100"
    assert ids(tags=["security"]) == ["cartsvc.W031"]


def test_more_threads_than_connections(db: None, settings: Any) -> None:
    settings.WEB_CONCURRENCY, settings.THREADS, settings.DB_POOLER = 1, 1, False
    settings.DB_SESSION = {}  # the tests' own is another than a service's
    assert ids(tags=["database"], databases=["default"]) == []
    settings.WEB_CONCURRENCY = 100_000
    expected = ["cartsvc.W030"] if connection.vendor == "postgresql" else []
    assert ids(tags=["database"], databases=["default"]) == expected
    settings.DB_POOLER = True  # which lends a connection to many
    assert ids(tags=["database"], databases=["default"]) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions")
def test_a_session_that_is_not_what_was_asked_for(db: None, settings: Any) -> None:
    settings.WEB_CONCURRENCY, settings.THREADS = 1, 1
    settings.DB_SESSION = {"jit": "off", "lock_timeout": "2000"}
    assert ids(tags=["database"], databases=["default"]) == []
    settings.DB_SESSION = {"jit": "on", "lock_timeout": "2001"}
    with pytest.raises(SystemCheckError) as refused:
        call_command("check", tags=["database"], databases=["default"])
    assert "SET jit = 'on'" in str(refused.value)
    assert "SET lock_timeout = '2001'" in str(refused.value)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's texts are in UTF-8")
@pytest.mark.skipif(app_settings.DB_POOLER, reason="a pooler knows the tests' database only")
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
