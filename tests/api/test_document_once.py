"""The API document is built once, however many ask for it first."""

import time
from typing import Any

import pytest
from django.test import Client

from carts.openapi import document
from tests.support.concurrency import together


@pytest.mark.django_db(transaction=True)
def test_many_at_once_build_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built, build = [], document.DocumentGenerator.get_schema

    def slowly(self: Any, *args: Any, **kwargs: Any) -> Any:
        built.append(self)
        time.sleep(0.05)  # long enough for the others to come
        return build(self, *args, **kwargs)

    monkeypatch.setattr(document.DocumentGenerator, "get_schema", slowly)
    document._document.cache_clear()
    answers = together([lambda: Client().get("/v2.0/openapi.json").status_code] * 4)
    assert answers == [200] * 4
    assert len(built) == 1
