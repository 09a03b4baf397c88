"""The documented set-up: what nginx takes, refuses and keeps from the service."""

import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http.client import HTTPResponse

import pytest
import requests

from cartsvc.api.envelope import failure
from cartsvc.errors import REFUSALS
from tests.chaos.proxies import HOST, Proxy, nginx
from tests.chaos.servers import ROOT, service
from tests.chaos.test_wire import head
from tests.support import bodies
from tests.support.carts import created
from tests.support.programs import wait_until


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with (
        service(ALLOWED_HOSTS=f"{HOST},127.0.0.1", HTTPS_ONLY="true") as server,
        nginx(server) as running,
    ):
        yield running


def is_open(connection: ssl.SSLSocket) -> bool:
    """Return whether nginx has neither answered nor closed the connection yet."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except ssl.SSLWantReadError:
        return True
    return False


def answer_to(proxy: Proxy, sent: bytes, **where: str) -> tuple[int, str | None, dict[str, str]]:
    """Return the status, the problem's code and the headers of what comes back."""
    with proxy.raw(sent, **where) as connection:
        answer = HTTPResponse(connection)
        answer.begin()
        body = answer.read()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-request-id"]
    code = json.loads(body)["notifications"][0]["code"]
    return answer.status, code, headers


def access_lines(proxy: Proxy) -> list[str]:
    return [line for line in proxy.server.log.read_text().splitlines() if "cartsvc.access" in line]


def test_requests_pass_and_count_as_https_whatever_the_caller_says(proxy: Proxy) -> None:
    forged = {"X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.example"}
    answer = proxy.caller().post("", bodies.cart(), X_Request_ID="mine-to-keep", **forged)
    assert answer.status_code == 200
    assert answer.headers["X-Request-ID"] == "mine-to-keep"
    assert "max-age" in answer.headers["Strict-Transport-Security"]
    # Only the proxy says whether a request came by HTTPS, and it tells the truth.
    plain = requests.get(f"{proxy.server.url}/v2.0/", allow_redirects=False, timeout=5)
    assert plain.status_code == 301


def test_stalled_bodies_and_headers_hold_up_nobody(proxy: Proxy) -> None:
    half_a_head = b"POST /v2.0/slow HTTP/1.1\r\nHost: loc"
    with ExitStack() as stack:
        stalled = [
            stack.enter_context(proxy.raw(sent, address=f"127.0.0.{number % 2 + 2}"))
            for number, sent in enumerate([HALF_A_BODY] * 40 + [half_a_head] * 40)
        ]
        callers = [proxy.caller() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: callers[n % 8].get(), range(200)))
        assert {answer.status_code for answer in answers} == {200}
        # All of them were answered while the others were still stalled.
        assert all(map(is_open, stalled))
    assert {json.loads(line)["status"] for line in access_lines(proxy)[-200:]} == {200}


def test_who_does_not_finish_a_body_is_dropped(proxy: Proxy) -> None:
    with proxy.raw(HALF_A_BODY) as stalled:
        started = time.monotonic()
        assert stalled.recv(1000) == b""
    assert 8 < time.monotonic() - started < 15


def test_slow_readers_hold_up_nobody(proxy: Proxy) -> None:
    """Each leaves a large answer unread, with a receive buffer as small as can be."""
    owner = proxy.caller()
    options = [bodies.option(displayName="x" * 100) for _ in range(90)]
    large = created(owner, bodies.cart(items=[bodies.item(options=options)] * 10))
    path = f"{owner.base.removeprefix(proxy.url)}/{large}"
    sent = head("GET", path=path, token=owner.token)
    with ExitStack() as stack:
        before = len(access_lines(proxy))
        for number in range(40):
            address = f"127.0.0.{number % 2 + 2}"
            stack.enter_context(proxy.raw(sent, receive=2048, address=address))
        wait_until(lambda: len(access_lines(proxy)) >= before + 40)
        started = time.monotonic()
        honest = [proxy.caller().get().status_code for _ in range(20)]
        assert honest == [200] * 20
        assert time.monotonic() - started < 5


HALF_A_BODY = head("POST", "Content-Length: 1000") + b'{"a":'
CHUNKED = "Transfer-Encoding: chunked"
STRANGE = head("GET").replace(b"localhost", b"evil.example")
ANSWERED = {
    "moved to another path": (200, None, head("GET", "SCRIPT_NAME: /v2.0", "Path-Info: /admin/")),
    "an underscored header": (
        401,
        "not_authenticated",
        head("GET").replace(b"Authorization", b"X_Y: 1\r\nauthorization_"),
    ),
    "a body over the limit": (413, "payload_too_large", head("POST", "Content-Length: 262145")),
    "chunks over the limit": (
        413,
        "payload_too_large",
        head("POST", CHUNKED) + b"100001\r\n" + b" " * 0x100001,
    ),
    "no Host": (400, "malformed_http", STRANGE.replace(b"Host: evil.example\r\n", b"")),
    "a strange Host": (400, "invalid_header", STRANGE),
    "a large header": (431, "headers_too_large", head("POST", f"X-A: {'a' * 9000}")),
    "many large headers": (431, "headers_too_large", head("POST", *[f"X-A: {'a' * 8000}"] * 5)),
    "a long path": (414, "uri_too_long", head("GET", path="/" + "a" * 9000)),
    "two lengths": (400, "malformed_http", head("POST", "Content-Length: 1", "Content-Length: 2")),
    "length and chunks": (400, "malformed_http", head("POST", "Content-Length: 1", CHUNKED)),
    "a malformed chunk": (400, "malformed_http", head("POST", CHUNKED) + b"zz\r\n{}\r\n"),
    "a folded header": (400, "malformed_http", head("POST", "X-A: 1\r\n folded")),
    "TRACE": (405, "method_not_allowed", head("TRACE")),
    "%00": (400, "malformed_http", head("GET", path="/%00")),
    "no HTTP": (400, "malformed_http", b"nonsense\r\n\r\n"),
    "a page of the proxy's own": (404, "not_found", head(path="/.nginx/unavailable")),
}


@pytest.mark.parametrize(("status", "code", "sent"), ANSWERED.values(), ids=ANSWERED)
def test_what_nginx_passes_or_refuses_is_an_envelope(
    proxy: Proxy, status: int, code: str | None, sent: bytes
) -> None:
    assert answer_to(proxy, sent)[:2] == (status, code)


def test_the_texts_are_the_declared_ones() -> None:
    limits = {"payload_too_large": {"limit": 256 * 1024}}
    shipped = (ROOT / "cartsvc/deploy/nginx.conf").read_text()
    said = re.findall(r"/.nginx/(\w+) {[^}]*?return (\d+) '(.*)';", shipped)
    assert len(said) == shipped.count("internal;") == 7
    for code, status, body in said:
        problem = REFUSALS[code](**limits.get(code, {}))
        assert (int(status), body) == (problem.status, failure([problem]).text)


def test_a_service_that_is_down_is_503_and_no_log_of_nginx_has_a_path(proxy: Proxy) -> None:
    caller = proxy.caller()
    key = caller.base.split("/")[5]
    assert caller.get("?secret=s3cret", X_Request_ID="of-this-request").status_code == 200
    path = f"{caller.base.removeprefix(proxy.url)}?secret=s3cret"
    proxy.server.stop()
    try:
        # The lines of errors have the path, whatever the format of the access log.
        status, code, headers = answer_to(proxy, head("GET", path=path))
        assert (status, code, headers["retry-after"]) == (503, "unavailable", "1")
        assert caller.request("PUT", "", "x" * 300_000).status_code == 413
    finally:
        proxy.server.start()
    assert caller.get().status_code == 200
    access, errors = (log.read_text() for log in proxy.logs)
    assert re.search(
        rf"^\S+ \[[\dT:+-]+\] GET 200 \d+ [\d.]+ s, id of-this-request, "
        rf"asked {proxy.server.bind}: 200$",
        access,
        re.MULTILINE,
    )
    for text in (access, errors):
        assert key not in text
        assert "s3cret" not in text


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_without_https_all_is_led_to_it(proxy: Proxy, host: str) -> None:
    plain = requests.post(
        f"http://{host}:{proxy.plain_port}/v2.0/x?y=1",
        headers={"Host": HOST},
        allow_redirects=False,
        timeout=5,
    )
    assert plain.status_code == 308
    assert plain.headers["Location"] == f"https://{HOST}/v2.0/x?y=1"
    with socket.create_connection((host.strip("[]"), proxy.port), 5):
        pass  # and there it is


def test_the_desk_can_be_closed_to_other_networks(proxy: Proxy) -> None:
    """The marks before the list are taken off; loopback is none of its networks."""
    marked = re.compile(r"# (allow [^#]*deny all;)")
    file = proxy.folder / "cartsvc.conf"
    shipped = file.read_text()
    assert len(marked.findall(shipped)) == 2
    file.write_text(marked.sub(r"\1", shipped))
    proxy.reload()
    try:
        for path in ("/admin/", "/admin/login/"):
            status, code, _ = answer_to(proxy, head("GET", path=path))
            assert (status, code) == (404, "not_found")
        assert proxy.caller().get().status_code == 200
    finally:
        file.write_text(shipped)
        proxy.reload()


def test_an_address_may_try_to_sign_in_ten_times_at_once(proxy: Proxy) -> None:
    login = f"{proxy.url}/admin/login/"
    with requests.Session() as browser:
        # The Referer that a browser sends for port 443, which the documented set-up uses.
        headers = {"Referer": f"https://{HOST}/admin/login/"}
        ask = partial(browser.request, verify=proxy.certificate, headers=headers, timeout=60)
        # Opening the page does not count as an attempt.
        pages = [ask("GET", login) for _ in range(15)]
        assert {page.status_code for page in pages} == {200}
        token = re.search(r'csrfmiddlewaretoken" value="([^"]+)', pages[-1].text)[1]
        sent = {"username": "x" * 300, "password": "x", "csrfmiddlewaretoken": token}
        answers = [ask("POST", login, data=sent) for _ in range(10)]
        # On a slow machine some attempts more become due meanwhile.
        more = (ask("POST", login, data=sent) for _ in range(60))
        refused = next(answer for answer in more if answer.headers["Retry-After"] == "60")
        # The page that changes a password has the same rate.
        assert ask("POST", f"{proxy.url}/admin/password_change/").status_code == 429
    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 6
    assert "Too many failed attempts" in answers[9].text
    assert refused.status_code == 429
    assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
    assert refused.headers["Cache-Control"] == "no-store"
    assert "Please wait a minute" in refused.text
    assert proxy.caller().get().status_code == 200
    # The service knows which address made these attempts.
    assert re.search(r"\b127\.0\.0\.1\b|::", proxy.server.manage("axes_list_attempts"))


def test_an_address_has_so_many_requests_to_the_desk_under_way(proxy: Proxy) -> None:
    form = head("POST", "Content-Length: 1000", path="/admin/")
    page = partial(requests.get, f"{proxy.url}/admin/login/", verify=proxy.certificate, timeout=5)
    with ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(proxy.raw(form))
        wait_until(lambda: page().status_code == 429)
        assert "Please wait a minute" in page().text
        assert proxy.caller().get().status_code == 200
    wait_until(lambda: page().status_code == 200)


def test_an_address_has_so_many_requests_under_way(proxy: Proxy) -> None:
    answer = partial(answer_to, proxy, head("GET"), address="127.0.0.2")
    with ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(proxy.raw(HALF_A_BODY, address="127.0.0.2"))
        wait_until(lambda: answer()[0] == 503)
        status, code, headers = answer()
        assert (status, code, headers["retry-after"]) == (503, "unavailable", "1")
        assert proxy.caller().get().status_code == 200
    wait_until(lambda: answer()[0] == 200)
