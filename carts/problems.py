"""Problems with a cart, each declared once. `cartsvc.api.problems` has those of any API."""

from cartsvc.api.problems import declare

INVALID_CURRENCY = declare(
    "invalid_currency",
    400,
    "This is not an upper-case currency code of ISO 4217, such as EUR.",
    meaning="A currency is not on the current list of ISO 4217.",
    remedy="Send an upper-case code of the list.",
)
CURRENCY_MISMATCH = declare(
    "currency_mismatch",
    400,
    "The cart's currency is %(currency)s.",
    meaning="An item or an option is in another currency than the cart.",
    remedy="Send the cart's currency with every item and option.",
)
TOO_MANY_DECIMALS = declare(
    "too_many_decimals",
    400,
    "A price must not have more than %(limit)d decimals.",
    meaning="A price has more decimals than the service keeps.",
    remedy="Round it before sending.",
)
TOO_MANY = declare(
    "too_many",
    400,
    "There must not be more than %(limit)d %(plural)s.",
    meaning="More items or options than the service takes.",
    remedy="Send fewer, or use another cart.",
)
PARTNER_MISMATCH = declare(
    "partner_mismatch",
    403,
    "The token is another partner's.",
    meaning="The token is bound to another partner than the body's partnerKey.",
    remedy="Send the token's partnerKey.",
)
CART_NOT_FOUND = declare(
    "cart_not_found",
    404,
    "This profile has no such cart.",
    meaning="The profile has no such cart, or the token does not open it.",
    remedy="Check profileKey and cartId; list the profile's carts.",
)
ITEM_NOT_FOUND = declare(
    "item_not_found",
    404,
    "The cart has no such item.",
    meaning="The cart has no such item, or it was removed.",
    remedy="Read the cart again.",
)
REQUEST_IN_PROGRESS = declare(
    "request_in_progress",
    409,
    "A request with this Idempotency-Key is still running.",
    meaning="The same request, sent before, is still at work.",
    remedy="Send it again with the same key in a moment.",
    retry=True,
)
VERSION_MISMATCH = declare(
    "version_mismatch",
    412,
    "The cart has moved on: its version is now %(version)d.",
    meaning="Somebody has changed the cart since the version in If-Match.",
    remedy="Read the cart again, and decide anew.",
)
IDEMPOTENCY_KEY_REUSED = declare(
    "idempotency_key_reused",
    422,
    "This Idempotency-Key came with another request before.",
    meaning="The key was sent before with another body or to another path.",
    remedy="Use a new key for a new request.",
)
