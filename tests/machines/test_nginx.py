"""The documented set-up: what nginx takes, refuses and keeps from the service."""

import json
import os
import re
import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from itertools import cycle

import pytest
import requests

from cartsvc.api.envelope import Failure
from cartsvc.request_errors import API_ERRORS, Throttled, Unavailable
from tests.machines.proxies import HOST, Proxy, nginx
from tests.machines.test_http_on_the_wire import answer_on, head
from tests.support import bodies
from tests.support.carts import created
from tests.support.programs import ROOT, missing, printed, program, wait_until

HALF_A_HEAD = b"POST /v2.0/slow HTTP/1.1\r\nHost: loc"
HALF_A_BODY = head("POST", "Content-Length: 1000") + b'{"a":'


def is_open(connection: ssl.SSLSocket) -> bool:
    """Return whether nginx has neither answered nor closed the connection yet."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except ssl.SSLWantReadError:
        return True
    return False


def access_lines(proxy: Proxy) -> list[str]:
    return [line for line in proxy.server.log.read_text().splitlines() if "cartsvc.access" in line]


def test_requests_pass_and_count_as_https_whatever_the_caller_says(proxy: Proxy) -> None:
    forged = {"X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.example"}
    answer = proxy.caller().post("", bodies.cart(), X_Request_ID="mine-to-keep", **forged)
    assert answer.status_code == 200
    assert answer.headers["X-Request-ID"] == "mine-to-keep"
    assert "max-age" in answer.headers["Strict-Transport-Security"]
    # Only the proxy says whether a request came by HTTPS, and it tells the truth.
    plain = requests.get(f"{proxy.server.url}/v2.0/", allow_redirects=False, timeout=60)
    assert plain.status_code == 301


def test_slow_callers_hold_up_nobody(proxy: Proxy) -> None:
    """Half of a body, half of a head, and large answers that are left unread."""
    owner = proxy.caller()
    options = [bodies.option(displayName="x" * 100) for _ in range(90)]
    large = created(owner, bodies.cart(items=[bodies.item(options=options)] * 10))
    path = f"{owner.base.removeprefix(proxy.url)}/{large}"
    read = head("GET", path=path, token=owner.token)
    before = len(access_lines(proxy))
    addresses = cycle(f"127.0.0.{last}" for last in range(2, 6))  # each may have 32 under way
    with ExitStack() as stack:

        def opened(sent: bytes) -> ssl.SSLSocket:
            return stack.enter_context(proxy.raw(sent, receive=2048, address=next(addresses)))

        for _ in range(40):
            opened(read)
        wait_until(lambda: len(access_lines(proxy)) >= before + 40)
        # nginx drops who is stalled for ten seconds: a busy machine must answer in less.
        stalled = [opened(sent) for sent in [HALF_A_BODY, HALF_A_HEAD] * 40]
        assert [proxy.caller().get().status_code for _ in range(8)] == [200] * 8
        assert all(map(is_open, stalled))
    assert {json.loads(line)["status"] for line in access_lines(proxy)[-48:]} == {200}


@contextmanager
def bounded(proxy: Proxy) -> Iterator[None]:
    """Let an address have as many connections to this nginx as the shipped file says."""
    table = f"inet cartsvc_{proxy.port}"
    shipped = (ROOT / "cartsvc/deploy/nftables.conf").read_text()
    here = shipped.replace("inet cartsvc", table).replace("{ 80, 443 }", str(proxy.port))
    if os.geteuid() != 0:
        missing("the right to refuse connections")
    printed(program("nft"), "-f", "-", input=here)
    try:
        yield
    finally:
        printed(program("nft"), "delete", "table", *table.split())


def test_half_heads_of_one_address_hold_up_nobody(proxy: Proxy) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    refused = 0
    with bounded(proxy), ExitStack() as stack:
        for _ in range(1700):
            try:
                stack.enter_context(proxy.raw(HALF_A_HEAD, address="127.0.0.2"))
            except ConnectionRefusedError:
                refused += 1
        # On a slow machine, nginx has dropped some that are ten seconds old.
        assert 0 < refused <= 700
        assert [proxy.caller().get().status_code for _ in range(15)] == [200] * 15


def test_who_does_not_finish_a_body_is_dropped(proxy: Proxy) -> None:
    with proxy.raw(HALF_A_BODY) as stalled:
        started = time.monotonic()
        assert stalled.recv(1000) == b""
    assert time.monotonic() - started > 8


def test_the_texts_are_the_declared_ones() -> None:
    limits = {"payload_too_large": {"limit": 256 * 1024}}
    shipped = (ROOT / "cartsvc/deploy/nginx.conf").read_text()
    said = re.findall(r"/.nginx/\w+ {[^}]*?return (\d+) '(.*)';", shipped)
    assert len(said) == shipped.count("internal;") == 9
    for status, body in said:
        [told] = json.loads(body)["notifications"]
        declared = API_ERRORS[told["code"]]
        error = declared(**limits.get(told["code"], {}))
        if declared is Unavailable:  # nothing here knows of the database
            assert told["text"] != str(error)
            error = declared(told["text"])
        assert (int(status), body) == (error.status, Failure(error).text)


def test_a_service_that_is_down_is_503_and_no_log_of_nginx_has_a_path(proxy: Proxy) -> None:
    caller = proxy.caller()
    key = caller.base.split("/")[5]
    assert caller.get("?restaurantKey=7", X_Request_ID="of-this-request").status_code == 200
    path = f"{caller.base.removeprefix(proxy.url)}?restaurantKey=7"
    proxy.server.stop()
    try:
        # The lines of errors have the path, whatever the format of the access log.
        assert "The service does not answer right now." in caller.get().text
        assert answer_on(proxy.raw(head("GET", path=path))) == "unavailable"
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
        assert "restaurantKey" not in text


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_without_https_all_is_led_to_it(proxy: Proxy, host: str) -> None:
    plain = requests.post(
        f"http://{host}:{proxy.plain_port}/v2.0/x?y=1",
        headers={"Host": HOST},
        allow_redirects=False,
        timeout=60,
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
            assert answer_on(proxy.raw(head("GET", path=path))) == "not_found"
        assert proxy.caller().get().status_code == 200
    finally:
        file.write_text(shipped)
        proxy.reload()


def test_a_token_has_a_rate_once_the_mark_is_off(proxy: Proxy) -> None:
    """However it is written: the service takes any case of Bearer, and any spaces after it."""
    sender = proxy.caller()
    file = proxy.folder / "cartsvc.conf"
    shipped = file.read_text()
    limited = shipped.replace("# limit_req zone=cartsvc_token", "limit_req zone=cartsvc_token")
    file.write_text(limited.replace("burst=50", "burst=1").replace("rate=10r/s", "rate=1r/m"))
    assert [sender.get().status_code for _ in range(4)] == [200] * 4
    proxy.reload()
    try:
        assert [sender.get().status_code for _ in range(2)] == [200] * 2
        for written in ("Bearer {}", "bEARER   {}", "Bearer {}="):
            authorization = written.format(sender.token)
            refused = sender.post("", bodies.cart(), Authorization=authorization)
            assert (refused.status_code, refused.text) == (429, Failure(Throttled()).text)
            assert refused.headers["Retry-After"] == "1"
            assert refused.headers["Content-Type"] == "application/json"
        assert proxy.caller(sub="another").get().status_code == 200
        login = requests.get(f"{proxy.url}/admin/login/", verify=proxy.certificate, timeout=60)
        assert login.status_code == 200
    finally:
        file.write_text(shipped)
        proxy.reload()
    assert sender.get().json()["data"]["carts"] == []


def test_an_address_may_try_to_sign_in_ten_times_at_once(proxy: Proxy) -> None:
    login = f"{proxy.url}/admin/login/"
    with requests.Session() as browser:
        headers = {"Referer": login, "Origin": proxy.url}  # as a browser does, with the port
        ask = partial(browser.request, verify=proxy.certificate, headers=headers, timeout=60)
        other = ask("POST", f"{proxy.url}/admin/logout/", headers={"Origin": f"https://{HOST}"})
        assert (other.status_code, "with its port" in other.text) == (403, True)
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
        change = f"{proxy.url}/admin/password_change/"
        wait_until(lambda: ask("POST", change).status_code == 429)
    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 6
    assert "Too many failed attempts" in answers[9].text
    assert refused.status_code == 429
    assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
    assert refused.headers["Cache-Control"] == "no-store"
    assert "Please wait a minute" in refused.text
    assert proxy.caller().get().status_code == 200
    # The service knows which address made these attempts.
    assert re.search(r"\b127\.0\.0\.1\b|::", proxy.server.manage("axes_list_attempts"))


def test_an_address_has_so_many_requests_under_way(proxy: Proxy) -> None:
    """And as many to the desk."""
    form = head("POST", "Content-Length: 1000", path="/admin/")
    page = partial(requests.get, f"{proxy.url}/admin/login/", verify=proxy.certificate, timeout=60)

    def answer() -> int | str:
        return answer_on(proxy.raw(head("GET"), address="127.0.0.2"))

    with ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(proxy.raw(HALF_A_BODY, address="127.0.0.2"))
            stack.enter_context(proxy.raw(form))
        wait_until(lambda: answer() == "unavailable")
        refused = stack.enter_context(proxy.raw(head("GET"), address="127.0.0.2"))
        with refused.makefile("rb") as told:
            assert b"Too many requests have come at once." in told.read()
        wait_until(lambda: page().status_code == 429)
        assert "Please wait a minute" in page().text
        assert proxy.caller().get().status_code == 200
    wait_until(lambda: answer() == page().status_code == 200)


def test_callers_behind_a_balancer_count_each_by_its_address(proxy: Proxy) -> None:
    page = (ROOT / "cartsvc/deploy/README.md").read_text()
    [balancer] = re.findall("^```nginx\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    file = proxy.folder / "cartsvc.conf"
    shipped = file.read_text()

    def asked(caller: str, sent: bytes = head("GET")) -> ssl.SSLSocket:
        line, rest = sent.split(b"\r\n", 1)
        forwarded = f"\r\nX-Forwarded-For: {caller}\r\n".encode()
        return proxy.raw(line + forwarded + rest, address="127.0.0.2")

    file.write_text(balancer.replace("10.0.0.5", "127.0.0.2") + shipped)
    proxy.reload()
    try:
        with ExitStack() as stack:
            for _ in range(32):
                stack.enter_context(asked("192.0.2.1", HALF_A_BODY))
            wait_until(lambda: answer_on(asked("192.0.2.1")) == "unavailable")
            assert answer_on(asked("192.0.2.2")) == 200
    finally:
        file.write_text(shipped)
        proxy.reload()


def test_an_instance_that_is_made_anew_costs_no_request(proxy: Proxy) -> None:
    """Until it is there, nothing answers at its address, not even a refusal."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # more than wait there: the kernel drops what comes after them
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        silent = copy(proxy.server)
        silent.bind = f"127.0.0.1:{listener.getsockname()[1]}"
        caller = stack.enter_context(nginx(proxy.server, silent)).caller()
        assert {caller.post("", bodies.cart()).status_code for _ in range(8)} == {200}
        assert len(caller.get().json()["data"]["carts"]) == 8
