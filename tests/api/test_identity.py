"""Authorisation: scopes, tokens bound to a profile or a partner, headers of RFC 6750."""

import time
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support import bodies
from tests.support.answers import assert_refused, error, errors_of
from tests.support.callers import PROFILE, STRANGER, Api
from tests.support.issuers import verified_with
from tests.support.not_sent import NOT_SENT
from tests.support.table_contents import Unchanged
from tests.support.tokens import mint

NO_TOKEN = error("not_authenticated", "Send an Authorization header with a bearer token.")


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "Bearer", "Bearer    ", "Basic dXNlcjpwYXNz", "{token}", "Bearer:{token}"),
        *("Bearer\t{token}", "Bearers {token}", "Basic Bearer {token}"),
    ],
)
def test_a_request_without_a_bearer_token(
    api: Api, unchanged: Unchanged, header: str | None
) -> None:
    """Neither a query nor a cookie carries one."""
    del api.client.defaults["HTTP_AUTHORIZATION"]
    api.client.cookies["access_token"] = mint()
    if header is not None:
        api.client.defaults["HTTP_AUTHORIZATION"] = header.format(token=mint())

    response = api.post(f"?access_token={mint()}&token={mint()}", bodies.cart())

    assert response.status_code == 401
    assert response.json() == NO_TOKEN
    assert response["WWW-Authenticate"] == 'Bearer realm="cartsvc"'


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_scheme_is_case_insensitive(api: Api, scheme: str) -> None:
    api.client.defaults["HTTP_AUTHORIZATION"] = f"{scheme} {mint()}"

    assert api.post(body=bodies.cart()).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "openid Cart.Write email"},
        {"scope": "  Cart.Write "},
        {"scope": ["openid", "Cart.Write", 7, None, {}]},
        {"scope": NOT_SENT, "scp": "Cart.Write"},
        {"aud": "somebody", "iss": "https://elsewhere.example", "jti": "1", "typ": "x"},
        {"token_type": "access", "user_id": 7},
        {"sub": "\u00fc" * 300},
        {"profileKey": str(PROFILE)},
        {"profileKey": str(PROFILE).upper(), "partnerKey": "ACME"},
    ],
    ids=repr,
)
def test_tokens_that_may_write(db: None, changes: dict[str, Any]) -> None:
    response = Api(**changes).post(body=bodies.cart())

    assert response.status_code == 200, response.content


@pytest.mark.parametrize(
    ("claim", "seconds"), [("exp", 600.5), ("exp", -20), ("nbf", 20), ("nbf", -0.5), ("iat", 20)]
)
def test_clocks_may_differ_by_half_a_minute(db: None, claim: str, seconds: float) -> None:
    response = Api(**{claim: time.time() + seconds}).post(body=bodies.cart())

    assert response.status_code == 200, response.content


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {"scope": scope}
            for scope in (
                *("", NOT_SENT, None, "cart.write", "Cart.Write2", "Cart.Writ", "Cart.*", "*"),
                *("Cart.Read,Cart.Write", "openid\tCart.Write", "openid\u00a0Cart.Write", True, 7),
                *([None], ["Cart.Read Cart.Write"], [["Cart.Write"]], {"Cart.Write": True}),
            )
        ),
        {"scope": None, "scp": "Cart.Write"},
        {"scope": NOT_SENT, "scp": 7},
        {"scope": NOT_SENT, "scopes": "Cart.Write"},
        {"scope": NOT_SENT, "roles": ["Cart.Write"], "is_superuser": True, "is_staff": True},
    ],
    ids=repr,
)
def test_tokens_that_may_not_write(unchanged: Unchanged, changes: dict[str, Any]) -> None:
    response = Api(**changes).post(body=bodies.cart())

    text = "The token must carry Cart.Write."
    assert_refused(response, 403, "insufficient_scope", text, scopes=["Cart.Write"])
    assert response["WWW-Authenticate"] == (
        'Bearer realm="cartsvc", error="insufficient_scope", scope="Cart.Write"'
    )


NO_PROFILE = (
    "profile_mismatch",
    "The token has neither a profileKey claim nor the scope Cart.AnyProfile.",
    "profileKey",
)
OTHER_PROFILE = (
    "profile_mismatch",
    "The token does not open this customer profile.",
    "profileKey",
)
NO_SCOPE = ("insufficient_scope", "The token must carry Cart.Read or Cart.Write.", None)


@pytest.mark.parametrize(
    ("scope", "profile_key", "error"),
    [
        ("Cart.Write", NOT_SENT, NO_PROFILE),
        ("Cart.Write cart.anyprofile", NOT_SENT, NO_PROFILE),
        ("Cart.Write Cart.AnyProfile", NOT_SENT, None),
        ("Cart.Write Cart.AnyProfile", str(STRANGER), OTHER_PROFILE),
        ("Cart.Write Cart.AnyProfile", str(PROFILE), None),
        ("Cart.Write", str(PROFILE), None),
        ("Cart.AnyProfile", NOT_SENT, NO_SCOPE),
    ],
)
def test_a_token_opens_one_profile_or_has_the_scope_for_any(
    unchanged: Unchanged, settings: Any, scope: str, profile_key: Any, error: Any
) -> None:
    for required in (True, False):
        settings.JWT_REQUIRE_PROFILE = required
        response = Api(scope=scope, profileKey=profile_key).get()
        if error is None or (error is NO_PROFILE and not required):
            assert response.status_code == 200
        else:
            facts = {"scopes": ["Cart.Read", "Cart.Write"]} if error is NO_SCOPE else {}
            assert_refused(response, 403, *error, **facts)


def test_issuer_and_audience_are_checked_when_configured(unchanged: Unchanged) -> None:
    ours = {"iss": "https://id.example", "aud": "carts"}
    wrong: dict[str, list[Any]] = {
        "iss": [NOT_SENT, None, "https://id.example/", "", [ours["iss"]], 7],
        "aud": [NOT_SENT, None, "menus", "", [], [["carts"]], {"carts": 1}, 7],
    }
    with verified_with(ISSUER="https://id.example", AUDIENCE="carts"):
        assert Api(**ours).get().status_code == 200
        assert Api(**ours | {"aud": ["menus", "carts"]}).get().status_code == 200
        for name, values in wrong.items():
            for value in values:
                response = Api(**{**ours, name: value}).get()
                assert (value, response.status_code) == (value, 401)
                assert errors_of(response) == [("invalid_token", None)]


def test_the_checks_are_made_in_this_order(
    cart_id: str, item_id: str, unchanged: Unchanged
) -> None:
    """At first everything is wrong. Then one fault after another is corrected."""
    profile, items = "me", f"/{STRANGER}/items/{item_id}"
    token: dict[str, Any] = {"scope": "none", "profileKey": str(STRANGER), "partnerKey": "OTHR"}
    body: Any = bodies.item(currency="USD", quantity=0)
    headers = {"If_Match": "seven"}

    def answer(*, sent: bool = True) -> tuple[int, list[tuple[str, str | None]]]:
        caller = Api(**token)
        caller.base = f"/v2.0/customers/{profile}/carts"
        if not sent:
            del caller.client.defaults["HTTP_AUTHORIZATION"]
        response = caller.put(items, body, **headers)
        return response.status_code, errors_of(response)

    assert answer(sent=False) == (401, [("not_authenticated", None)])
    assert answer() == (403, [("insufficient_scope", None)])
    token["scope"] = "Cart.Write"
    assert answer() == (400, [("invalid_guid", "profileKey")])
    profile = str(PROFILE)
    assert answer() == (403, [("profile_mismatch", "profileKey")])
    token["profileKey"] = profile
    assert answer() == (400, [("invalid_header", "If-Match")])
    headers["If_Match"] = '"7"'
    assert answer() == (400, [("min_value", "/quantity")])
    body["quantity"] = 1
    assert answer() == (404, [("cart_not_found", None)])
    items = f"/{cart_id}/items/{item_id}"
    assert answer() == (404, [("cart_not_found", None)])  # the cart is another partner's
    token["partnerKey"] = "ACME"
    assert answer() == (412, [("version_mismatch", "If-Match")])
    headers["If_Match"] = '"1"'
    assert answer() == (400, [("currency_mismatch", "/currency")])


def test_create_checks_the_partner_between_body_and_currency(unchanged: Unchanged) -> None:
    body = bodies.cart(items=[bodies.item(currency="USD")], note=7)
    api = Api(partnerKey="acme")

    assert errors_of(api.post(body=body, Idempotency_Key="a b")) == [
        ("invalid_header", "Idempotency-Key")
    ]
    assert errors_of(api.post(body=body)) == [("invalid_type", "/note")]
    del body["note"]
    text = "The token is another partner's."
    assert_refused(api.post(body=body), 403, "partner_mismatch", text, "/partnerKey")
    assert errors_of(Api(partnerKey="ACME").post(body=body)) == [
        ("currency_mismatch", "/items/0/currency")
    ]


def test_a_session_of_the_admin_does_not_open_the_api(
    api: Api, cart_id: str, unchanged: Unchanged, client: Client
) -> None:
    client.force_login(User.objects.create_superuser("root", password=uuid.uuid4().hex))

    for response in (
        client.get(f"{api.base}/{cart_id}"),
        client.post(api.base, bodies.cart(), content_type="application/json"),
    ):
        assert response.status_code == 401
        assert response.json() == NO_TOKEN


@pytest.mark.parametrize("changes", [{}, {"is_staff": True, "is_superuser": True}], ids=repr)
def test_a_bearer_token_does_not_open_the_admin(db: None, changes: dict[str, Any]) -> None:
    User.objects.create_superuser("partner-app", password=uuid.uuid4().hex)

    response = Api(**changes).client.get("/admin/")

    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")
