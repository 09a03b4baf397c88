"""The server's configuration as gunicorn reads it; tests/chaos runs it for real."""

import gc
import importlib
import os
import tempfile
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cartsvc import settings


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("BIND", raising=False)
    return importlib.reload(importlib.import_module("cartsvc.gunicorn"))


def test_nothing_set_is_bound_to_loopback(loaded: ModuleType) -> None:
    assert loaded.bind == ["127.0.0.1:8000"]
    assert loaded.workers >= 2
    assert loaded.accesslog is None  # the service writes its own lines, without secrets


def test_what_is_loaded_is_shared_by_the_workers(loaded: ModuleType) -> None:
    loaded.when_ready(None)
    try:
        assert loaded.preload_app
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_without_metrics_nothing_is_made_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "METRICS_BIND", "")
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    config = importlib.reload(importlib.import_module("cartsvc.gunicorn"))
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ

    # Somebody else's counts are left alone.
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    theirs = [tmp_path / "counter_1.db", tmp_path / "gauge_liveall_7.db"]
    for file in theirs:
        file.write_bytes(b"")
    threads = threading.enumerate()
    config.on_starting(None)
    config.post_worker_init(None)
    config.child_exit(None, SimpleNamespace(pid=7))
    config.on_exit(None)
    assert sorted(tmp_path.iterdir()) == theirs
    assert threading.enumerate() == threads


def test_counts_of_an_earlier_run_are_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "METRICS_BIND", "127.0.0.1:9100")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    config = importlib.reload(importlib.import_module("cartsvc.gunicorn"))
    (tmp_path / "counter_1.db").write_bytes(b"")

    config.on_starting(None)
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "gauge_liveall_7.db").write_bytes(b"")
    config.child_exit(None, SimpleNamespace(pid=7))
    assert list(tmp_path.iterdir()) == []

    config.on_exit(None)
    assert not tmp_path.exists()
    tmp_path.mkdir()  # pytest's own to remove
