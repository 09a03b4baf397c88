"""What carts/README.md promises never to change; new codes may come beside these."""

import pytest

from cartsvc.errors import REFUSALS

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
PROMISED = [(code, status) for status, codes in STATUSES.items() for code in codes.split()]


@pytest.mark.parametrize(("code", "status"), PROMISED)
def test_a_code_keeps_its_status(code: str, status: int) -> None:
    assert REFUSALS[code].status == status
