"""An example of each error code. A test compares them with what the service answers."""

from datetime import UTC, datetime

from django.conf import settings

from carts import cart_errors
from cartsvc import request_errors
from cartsvc.api.operation import Operation
from cartsvc.json_values import rfc3339
from cartsvc.request_errors import ApiError

CLOSED_ON = datetime(2026, 1, 31, 18, 30, 0, 123456, UTC)

# What every operation may answer, every one below a customer, and every one that takes a body.
COMMON_ERRORS = (
    request_errors.NotAuthenticated(),
    request_errors.InvalidToken(),
    request_errors.InsufficientScope(named="Cart.Write", scopes=["Cart.Write"]),
    request_errors.Throttled(),
    request_errors.InternalError(),
    request_errors.Unavailable(),
)
CUSTOMER_ERRORS = (
    request_errors.InvalidGuid(field="profileKey", name="profileKey"),
    cart_errors.ProfileMismatch(field="profileKey"),
)
BODY_ERRORS = (
    request_errors.UnknownMember(field="/specialInstruction"),
    request_errors.MalformedJson("The body is not JSON: Expecting value at line 1, column 1."),
    request_errors.PayloadTooLarge(limit=settings.MAX_BODY_BYTES),
    request_errors.UnsupportedMediaType(taken="application/json", field="Content-Type"),
)

# Of the errors that operations declare, those that have details.
DECLARED_ERRORS = (
    request_errors.InvalidParameter("limit must be 1 to 100.", field="limit"),
    request_errors.UnknownParameter(field="offset"),
    cart_errors.CannotChange(field="/currency"),
    cart_errors.PartnerMismatch(field="/partnerKey"),
    cart_errors.CartClosed(
        status="ordered",
        closed_on=CLOSED_ON,
        closed_until=None,
        when=f"since {rfc3339(CLOSED_ON)}",
    ),
    cart_errors.VersionMismatch(field="If-Match", version=4),
    cart_errors.RequestInProgress(field="Idempotency-Key"),
    cart_errors.IdempotencyKeyReused(field="Idempotency-Key", differs=["body"], parts="body"),
)


def example_errors(operation: Operation, path: str) -> list[ApiError]:
    """Return an example of each error of an operation. A value may have others as well."""
    examples: dict[type[ApiError], ApiError] = {type(error): error for error in DECLARED_ERRORS}
    declared = [examples.get(error) or error() for error in operation.errors]
    of_customer = CUSTOMER_ERRORS if "{profileKey}" in path else ()
    return [*COMMON_ERRORS, *of_customer, *(BODY_ERRORS if operation.body else ()), *declared]
