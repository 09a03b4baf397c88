"""If-Match on the operations that change a cart."""

import pytest

from tests.support.answers import assert_refused, errors_of
from tests.support.callers import Api
from tests.support.carts import shown
from tests.support.operations import CHANGES, send
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize(
    "version",
    [
        *("*", ' "1" ', 'W/"1"', '"7", "1"', 'W/"1","abc"', '"2" , W/"1", ""', '"a,b","1"'),
        *('"1",', ', "1"', '"7",, "1" ,\t'),
        ", ".join(['"1"'] * 200) + "  ",
        *('"1-gzip"', '"1--gzip"', 'W/"1-br"', '"1;gzip"', '"7-gzip", "1-zstd"'),
    ],
)
def test_a_change_of_the_expected_version_is_made(
    api: Api, cart_id: str, item_id: str, version: str
) -> None:
    response = send(api, "Update Item", cart_id, item_id, If_Match=version)

    assert (response.status_code, response["ETag"]) == (200, '"2"')
    assert shown(api, cart_id)["version"] == 2


STALE = ['"1"', '"3"', '"0"', '"02"', '"999999999"', '"9999999999999999999999"', '"abc"', '""']
STALE += ['W/"1"', '"1", "3"', 'W/"9","abc"', '"20-gzip"', '"2-"', '"2---br"', '"2-1"', '"-gzip"']


@pytest.mark.parametrize("name", CHANGES)
def test_refuses_a_change_of_another_version(
    api: Api, cart_id: str, item_id: str, unchanged: Unchanged, name: str
) -> None:
    send(api, "Change Item", cart_id, item_id)
    unchanged()

    for version in STALE:
        response = send(api, name, cart_id, item_id, If_Match=version)
        text = "The cart has moved on: its version is now 2."
        assert_refused(response, 412, "version_mismatch", text, "If-Match", version=2)
        assert response["ETag"] == '"2"'


NO_VERSIONS = ["1", "", '"1', '"1", 2', ",", "'1'", '"1""2"', "**", '"\u00e9"', "w/1"]
NO_VERSIONS += ['"1" x', '"a b"']


@pytest.mark.parametrize("name", [*CHANGES, "Get Cart"])
def test_refuses_a_header_that_names_no_version(
    api: Api, cart_id: str, item_id: str, unchanged: Unchanged, name: str
) -> None:
    header = "If-None-Match" if name == "Get Cart" else "If-Match"
    text = f'{header} must be a version in quotes, such as "3", or a list of these.'

    for version in (*NO_VERSIONS, ", ".join(['"1"'] * 201)):
        response = send(api, name, cart_id, item_id, **{header: version})
        assert_refused(response, 400, "invalid_header", text, header)


def test_all_headers_that_are_wrong_are_told(api: Api, cart_id: str, unchanged: Unchanged) -> None:
    headers = {"If_Match": "1", "Idempotency_Key": "two words"}
    response = api.patch(f"/{cart_id}", {"note": 7}, **headers)
    names = ["If-Match", "Idempotency-Key"]
    assert errors_of(response) == [("invalid_header", name) for name in names]
