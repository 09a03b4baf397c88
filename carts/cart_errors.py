"""What can be wrong with a cart: one exception class each."""

from cartsvc.request_errors import ApiError
from cartsvc.value_errors import InvalidValue


class InvalidCurrency(InvalidValue):
    text = "This is not an upper-case currency code of ISO 4217, such as EUR."
    meaning = "A currency is no code, or a new cart's is not on the current list of ISO 4217."
    remedy = "Send an upper-case code of the list, with items the cart's."


class CurrencyMismatch(ApiError):
    text = "The cart's currency is %(currency)s."
    facts = ("currency",)
    meaning = "An item or an option is in another currency than the cart."
    remedy = "Send the cart's currency with every item and option."


class TooManyDecimals(InvalidValue):
    text = "A price must not have more than %(limit)d decimals."
    facts = ("limit",)
    meaning = "A price has more decimals than the service keeps."
    remedy = "Round it before sending."


class CannotChange(ApiError):
    text = "This member cannot be changed."
    meaning = (
        "A member that no change takes; or seconds with an outcome other than checkout, or an "
        "orderReference with one other than ordered."
    )
    remedy = (
        "Leave it out. Update Item replaces an item whole; another restaurant or currency needs "
        "another cart."
    )


class TooMany(InvalidValue):
    text = "There must not be more than %(limit)d %(plural)s."
    facts = ("limit",)
    meaning = "More items or options than the service takes."
    remedy = "Send fewer, or use another cart."


class CartClosed(ApiError):
    status = 409
    text = "The cart is closed: %(status)s %(when)s."
    facts = ("status", "closed_on", "closed_until")
    meaning = "The cart is in checkout, ordered or abandoned, so nothing in it changes."
    remedy = (
        "Wait until its checkout ends, or have it reopened. For another order, create another cart."
    )


class ProfileMismatch(ApiError):
    status = 403
    text = "The token does not open this customer profile."
    meaning = "The token is for another customer, or for none where that is demanded."
    remedy = "Use the profileKey of the token, or a token of that customer. See Identity."


class PartnerMismatch(ApiError):
    status = 403
    text = "The token is another partner's."
    meaning = "The token is bound to another partner than the body's partnerKey."
    remedy = "Send the token's partnerKey."


class CartNotFound(ApiError):
    status = 404
    text = "This profile has no such cart."
    meaning = "The profile has no such cart, or the token does not open it."
    remedy = "Check profileKey and cartId; list the profile's carts."


class ItemNotFound(ApiError):
    status = 404
    text = "The cart has no such item."
    meaning = "The cart has no such item, or it was removed. Of a list's item this is a 400."
    remedy = "Read the cart again."


class ListedItemNotFound(ItemNotFound):
    """An item in a list that the caller sent is not one of the cart."""

    status = 400


class RequestInProgress(ApiError):
    status = 409
    text = "A request with this Idempotency-Key is still running."
    meaning = "The same request, sent before, is still at work."
    remedy = "Send it again with the same key in a moment."
    retry = True


class VersionMismatch(ApiError):
    status = 412
    text = "The cart has moved on: its version is now %(version)d."
    facts = ("version",)
    meaning = "Somebody has changed the cart since the version in If-Match."
    remedy = "Read the cart again, and decide anew."


class IdempotencyKeyReused(ApiError):
    status = 422
    text = "This Idempotency-Key came with another request before. What differs: %(parts)s."
    facts = ("differs",)
    meaning = (
        "The key was sent before with another body, If-Match or preference (return=representation),"
        " or to another path. differs names which."
    )
    remedy = "Use a new key for a new request."
