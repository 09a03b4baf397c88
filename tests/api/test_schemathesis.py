"""schemathesis checks the service against its own OpenAPI document, in process."""

import os
import uuid
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from carts.models import Cart, CartItem
from carts.value_types import CURRENCY_CODE
from cartsvc.guids import parse_guid
from cartsvc.wsgi import application
from tests.support.callers import PROFILE
from tests.support.factories import CartFactory, ItemFactory
from tests.support.tokens import mint

# For each operation, the number of cases and how many of them must succeed.
CASES, SUCCESSES = (150, 8) if os.environ.get("CI") else (25, 1)

# schemathesis takes fewer statuses for an error: no 413 of a wrong body that is too large.
API_ERRORS = {"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}}

OPERATIONS = {
    found.ok().label: found.ok()
    for found in schemathesis.openapi.from_wsgi(
        "/v2.0/openapi.json", application, config=SchemathesisConfig.from_dict(API_ERRORS)
    ).get_all_operations()
}

# The document cannot say that currencies must match, nor limit prices to four decimals.
UNSAYABLE = CHECKS.get_one("positive_data_acceptance")
# Unknown query parameters are ignored. schemathesis would call that accepting bad data.
REJECTION = CHECKS.get_one("negative_data_rejection")


def exchange_ids(case: Case) -> None:
    """Put an existing cart and item into a valid path, seven times out of eight.

    So reads, updates and removals give both success and 404.
    """
    path = case.path_parameters
    if not path or not all(parse_guid(str(value)) for value in path.values()):
        return
    if uuid.UUID(str(path["profileKey"])).int % 8 == 7:
        return
    path["profileKey"] = str(PROFILE)
    carts = Cart.objects.filter(profile_key=PROFILE, stored_status="open")
    cart = carts.first() or CartFactory(profile_key=PROFILE)
    if "cartId" in path:
        path["cartId"] = str(cart.id)
    if "itemId" in path:
        item = CartItem.objects.filter(cart=cart).first() or cart.add_item(**ItemFactory())
        path["itemId"] = str(item.id)


def agree_on_currency(value: object) -> None:
    """Replace every code of a currency with the cart's: few that match the pattern exist."""
    if isinstance(value, dict):
        if CURRENCY_CODE.fullmatch(str(value.get("currency"))):
            value["currency"] = "EUR"
        for inner in value.values():
            agree_on_currency(inner)
    elif isinstance(value, list):
        for inner in value:
            agree_on_currency(inner)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_documented(label: str) -> None:
    operation = OPERATIONS[label]
    cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(
        generation_mode=GenerationMode.NEGATIVE
    )
    statuses: Counter[int] = Counter()
    names = {parameter.name for parameter in operation.query}

    @settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def holds(case: Case) -> None:
        exchange_ids(case)
        agree_on_currency(case.body)
        excluded = [UNSAYABLE]
        if not set(case.query) <= names:
            excluded.append(REJECTION)
        token = mint(scope="Cart.Read Cart.Write Cart.Close Cart.AnyProfile")
        response = case.call_and_validate(
            headers={"Authorization": f"Bearer {token}"}, excluded_checks=excluded
        )
        statuses[response.status_code] += 1

    holds()
    assert sum(statuses.values()) >= CASES * 0.9, statuses
    assert statuses[200] >= SUCCESSES, statuses
