import re
from typing import Any

import pytest
from django.test import Client

from tests.support import bodies
from tests.support.answers import assert_refused, error, errors_of
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.operations import REQUESTS
from tests.support.table_contents import Unchanged


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "image/*", "", ",;,/"])
def test_accept_is_not_negotiated(api: Api, cart_id: str, accept: str) -> None:
    shown = api.get(f"/{cart_id}").content
    assert api.get(f"/{cart_id}", Accept=accept).content == shown
    assert api.get(f"/{cart_id}?format=xml", Accept=accept).content == shown
    refused = api.post(body={}, Accept=accept)
    assert (refused.status_code, refused["Content-Type"]) == (400, "application/json")


NOTHING_HERE = ("not_found", "There is nothing at this path.")
CARTS = f"/v2.0/customers/{PROFILE}/carts"


@pytest.mark.parametrize(
    "path",
    [
        "/v2.0",
        "/v2.0/unknown",
        f"/v2.0/customers/{PROFILE}",
        f"{CARTS}/",
        f"{CARTS}/{STRANGER}/",
        f"{CARTS}/{STRANGER}/items/",
        f"{CARTS}/{STRANGER}/items/{STRANGER}/",
        f"{CARTS}/{STRANGER}/items/{STRANGER}/options",
        f"/v2.0/customers//{PROFILE}/carts",
        f"/v2.0/Customers/{PROFILE}/carts",
        CARTS.replace("v2", "v1"),
        CARTS.replace("v2", "V2"),
        f"/{CARTS}",
        "/v2.0/%00",
        "/v2.0/%FF%FE",
        "/v2.0/%0d%0aSet-Cookie:a=b",
        "/v2.0/../admin/",
        "/v2.0/" + "a" * 8_000,
        "/carts",
        "/administrator",
        "/docs/x",
        "/docs.json",
        "/static",
        "/healthz/",
        "*",
    ],
    ids=lambda path: path[:60].replace(str(PROFILE), "P").replace(str(STRANGER), "C"),
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_path_is_not_found(
    api: Api, unchanged: Unchanged, method: str, path: str
) -> None:
    response = api.client.generic(method, path)

    assert_refused(response, 404, *NOTHING_HERE)
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch("[0-9a-f]{32}", response["X-Request-ID"])


@pytest.mark.parametrize("path", [f"{CARTS}/{STRANGER}", "/docs", "/admin/login/"])
def test_a_head_that_is_too_large_is_not_read(path: str, unchanged: Unchanged) -> None:
    too_large = (431, "headers_too_large", "The headers of the request are too large.")
    for header in ("Authorization", "Cookie", "Prefer", "X-Forwarded-For"):
        assert_refused(Client().get(path, headers={header: "," * 8193}), *too_large)
    many = {f"X-{number}": "a" * 8000 for number in range(5)}
    assert_refused(Client().get(path, headers=many), *too_large)
    too_long = (414, "uri_too_long", "The address of the request is too long.")
    assert_refused(Client().get(f"{path}?next={'%' * 8192}"), *too_long)


METHODS = {
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "BREW",
    "get",
    "Post",
}


@pytest.mark.parametrize("path", {one.path: None for one in REQUESTS.values()})
def test_a_method_that_the_path_does_not_have(api: Api, unchanged: Unchanged, path: str) -> None:
    allowed = {one.method for one in REQUESTS.values() if one.path == path}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    api.base = path.format(profileKey=PROFILE, cartId=STRANGER, itemId=STRANGER)
    for method in METHODS - allowed:
        response = api.request(method)

        assert response.status_code == 405
        assert set(response["Allow"].split(", ")) == allowed
        if method != "HEAD":
            text = f"This path takes only {response['Allow']}."
            assert response.json() == error("method_not_allowed", text)


@pytest.mark.parametrize(
    ("method", "status"), [("GET", 301), ("POST", 308), ("PUT", 308), ("DELETE", 308)]
)
def test_a_change_without_https_is_not_repeated_as_a_read(
    settings: Any, unchanged: Unchanged, method: str, status: int
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    api = Api()

    response = api.request(method, "", bodies.cart())

    assert response.status_code == status
    assert response["Location"] == f"https://testserver{api.base}"
    assert "Content-Type" not in response
    assert response.content == b""


@pytest.mark.parametrize("host", ["evil.example", "localhost:port", "a b", "", "@", "[::"])
def test_refuses_a_host_that_is_not_ours(
    api: Api, unchanged: Unchanged, settings: Any, caplog: pytest.LogCaptureFixture, host: str
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]

    response = api.post(body=bodies.cart(), Host=host)

    text = "The Host header names no host of this service."
    assert_refused(response, 400, "invalid_header", text, "Host")
    logger = "cartsvc.api.exception_handler"
    [record] = [record for record in caplog.records if record.name == logger]
    assert "ALLOWED_HOSTS" in record.getMessage()
    assert "evil" not in record.getMessage()


def test_every_answer_has_the_headers_and_the_shape(api: Api, cart_id: str, item_id: str) -> None:
    api.post(body=bodies.cart(), Idempotency_Key="mine")
    responses: list[Any] = [
        api.get(f"/{cart_id}"),
        api.post(body={}),
        Client().patch(api.base),  # it asks for the token before the method
        Api(scope="none").get(),
        api.get(f"/{STRANGER}"),
        api.client.patch(api.base),
        api.put(f"/{cart_id}/items/{item_id}", bodies.item(), If_Match='"9"'),
        api.post(body=b" " * (256 * 1024 + 1)),
        api.client.post(api.base, "<cart/>", content_type="text/xml"),
        api.post(body=bodies.bare_cart(), Idempotency_Key="mine"),
    ]

    answers = {response.status_code: response for response in responses}
    assert sorted(answers) == [200, 400, 401, 403, 404, 405, 412, 413, 415, 422]
    for status, response in answers.items():
        assert response["Content-Type"] == "application/json"
        assert response["Cache-Control"] == "no-store"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert int(response["Content-Length"]) == len(response.content)
        assert re.fullmatch("[0-9a-f]{32}", response["X-Request-ID"])
        assert not response.cookies
        for_pages = {"Vary", "Referrer-Policy", "Cross-Origin-Opener-Policy"}
        assert for_pages.isdisjoint(response.headers)
        if status != 200:
            assert errors_of(response)
    ids = {response["X-Request-ID"] for response in answers.values()}
    assert len(ids) == len(answers)


@pytest.mark.parametrize("own", ["a" * 8, "A-z_0.9" * 9 + "Z"])
def test_a_caller_may_name_the_request(api: Api, own: str) -> None:
    for path in (api.base, f"{api.base}/mine", "/v2.0/x"):
        assert api.client.get(path, headers={"X-Request-ID": own})["X-Request-ID"] == own


@pytest.mark.parametrize(
    "own", ["", "short-7", "0" * 65, "with a space", "line\nfeed-1", "pizza-\u00e9\u00e9"]
)
def test_a_name_that_could_not_be_logged_is_replaced(api: Api, own: str) -> None:
    assert re.fullmatch("[0-9a-f]{32}", api.get(X_Request_ID=own)["X-Request-ID"])


@pytest.mark.parametrize("path", ["/admin/nothing/here", "/static/nothing.css"])
def test_pages_answer_as_pages(client: Client, db: None, path: str) -> None:
    assert client.get(path, follow=True)["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/", "/docs/"])
def test_leads_people_to_the_page_that_explains_the_api_and_no_callers(
    client: Client, path: str
) -> None:
    response = client.get(path)

    assert (response.status_code, response["Location"]) == (302, "/docs")
    assert client.get("/docs").status_code == 200
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert_refused(client.generic(method, path), 404, *NOTHING_HERE)
