"""The declared problems: what carts/README.md lists of them, and promises never to change."""

import pytest

from cartsvc.errors import REFUSALS, Refusal
from tests.support.catalogue import README, renewed

# New codes may come beside these.
STATUSES: dict[int, str] = {
    400: "blank control_character currency_mismatch invalid_currency invalid_guid invalid_header"
    " invalid_parameter invalid_type malformed_json max_length max_value min_value more_problems"
    " null required too_many too_many_decimals",
    401: "invalid_token not_authenticated",
    403: "insufficient_scope partner_mismatch profile_mismatch",
    404: "cart_not_found item_not_found not_found",
    405: "method_not_allowed",
    409: "request_in_progress",
    412: "version_mismatch",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "idempotency_key_reused",
    429: "throttled",
    500: "internal_error",
    503: "unavailable",
}


def test_a_code_keeps_its_status() -> None:
    promised = {code: status for status, codes in STATUSES.items() for code in codes.split()}

    assert {code: REFUSALS[code].status for code in promised} == promised


def test_the_readme_has_the_catalogue() -> None:
    text = README.read_text()

    assert renewed(text) == text, "run: python -m tests.support.catalogue"


def test_a_code_is_declared_once() -> None:
    before = dict(REFUSALS)

    with pytest.raises(TypeError, match="null is declared twice"):
        type("Null", (Refusal,), {"text": "Again."})

    assert before == REFUSALS
