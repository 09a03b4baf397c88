"""Who a caller is behind proxies, seen in what the desk keeps of a failed sign-in."""

import pytest
from axes.models import AccessAttempt
from django.test import Client
from pytest_django import Settings

pytestmark = pytest.mark.django_db

UNKNOWN = "::"
NEAR, FAR = "10.0.0.9", "10.0.0.8"
CALLER = "203.0.113.9"


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "caller"),
    [
        # The last entry counts, and of its address the network.
        ([NEAR], NEAR, f"198.51.100.1,  ,{CALLER} ", CALLER),
        ([NEAR], NEAR, "2001:db8::1:2:3:4", "2001:db8::"),
        ([NEAR], NEAR, f"::ffff:{CALLER}", CALLER),
        ([NEAR], NEAR, "", UNKNOWN),
        ([NEAR], NEAR, "nonsense", UNKNOWN),
        ([NEAR], NEAR, f"{CALLER}:4711", UNKNOWN),
        # Entries of proxies are passed over, those of others count.
        (["10.0.0.0/8"], NEAR, f"198.51.100.1, {CALLER}, {FAR}", CALLER),
        ([NEAR], NEAR, f"{CALLER}, {FAR}", FAR),
        # A socket file is a proxy.
        ([NEAR], "unix:", f"198.51.100.1, {CALLER}, {NEAR}", CALLER),
        ([NEAR], f"::ffff:{NEAR}", f"198.51.100.1, {CALLER}", CALLER),
        # Nobody else is believed.
        ([], NEAR, CALLER, NEAR),
        ([], "2001:db8::ffff:2", CALLER, "2001:db8::"),
        ([], "fe80::1%eth0", CALLER, "fe80::"),
        (["192.168.0.0/16", "::1"], NEAR, CALLER, NEAR),
    ],
)
def test_whose_word_counts(
    proxies: list[str], peer: str, forwarded: str, caller: str, settings: Settings
) -> None:
    settings.FORWARDED_ALLOW_IPS = proxies
    client = Client(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    client.post("/admin/login/", {"username": "anna", "password": "wrong"})
    assert AccessAttempt.objects.get().ip_address == caller


@pytest.mark.parametrize(
    ("proxies", "scheme", "secure"),
    [
        ([NEAR], "https", True),
        (["10.0.0.0/8"], "http, https", True),
        ([NEAR], "https, http", False),
        ([NEAR], "", False),
        ([FAR], "https", False),
    ],
)
def test_a_proxy_says_how_its_caller_came(
    proxies: list[str], scheme: str, secure: bool, settings: Settings
) -> None:
    settings.FORWARDED_ALLOW_IPS = proxies
    settings.SECURE_HSTS_SECONDS = 3600
    client = Client(REMOTE_ADDR=NEAR, HTTP_X_FORWARDED_PROTO=scheme)
    headers = [client.get(path).headers for path in ("/v2.0/openapi.json", "/docs")]
    assert ["Strict-Transport-Security" in each for each in headers] == [secure, secure]
