"""What the document says of each schema, property, parameter and header.

The words are the specification's wherever it has some.
"""

from django.conf import settings

ROUNDED = "A 64-bit integer: JavaScript rounds it above 2⁵³, so read it there as a BigInt."
LINE = "At least one character that is not white space, and no control characters."
PARAGRAPH = "May be null. No control characters but tabs and line breaks."
EXACT = "Exact, with at most four decimals."
SEVERITY = 'Severity label of the notification. A success outcome carries the label "Success".'

SCHEMAS = {
    "CreateCart": "The request body of Create Cart.",
    "CartItem": "An item of Create Cart, and the request body of Add Item.",
    "UpdateCartItem": "The request body of Update Item. What is not sent is not kept.",
    "CartItemOption": "An option that the customer selected for an item.",
    "Currency": "An upper-case currency code on the current list of ISO 4217.",
    "CartCreated": "The data of Create Cart.",
    "ItemAdded": "The data of Add Item.",
    "Cart": "A cart with its items.",
    "CartSummary": "A cart without its items.",
    "CartPage": "The data of List Carts.",
    "CartItemRead": "An item as a cart shows it.",
    "CartItemOptionRead": "An option as a cart shows it.",
    "Notification": "Tells something about the operation.",
    "NotificationData": "Extra data of a notification.",
    "Severity": SEVERITY,
    "ErrorResponse": (
        "The ApiResponse envelope of a refused request, with a notification for each problem."
    ),
}
ENVELOPE_WITH_DATA = "The ApiResponse envelope of {name}."
ENVELOPE_WITHOUT_DATA = "The ApiResponse envelope of {name}, which returns no data property."

CART = {
    "cartId": "Unique identifier of the cart.",
    "profileKey": "Profile key of the customer.",
    "partnerKey": f"The partner key assigned to the caller. {LINE}",
    "restaurantKey": "The restaurant that the order is placed against.",
    "items": "Items, with their selected options, in the order in which they were sent.",
    "platform": f"Identifier of the platform the order is placed from. {LINE}",
    "orderingChannel": "Ordering channel for the order. The value is taken from the menu. " + LINE,
    "fulfilmentChannel": (
        f"Fulfilment channel for the order. The value is taken from the menu. {LINE}"
    ),
    "currency": (
        "ISO 4217 currency code that applies to the items, totals, fees and tip of the order."
    ),
    "note": (
        "Note submitted with the order. It may appear on the customer's point-of-sale invoice. "
        + PARAGRAPH
    ),
    "specialInstructions": (
        "Instructions submitted with the order. They usually print only in the restaurant "
        f"kitchen. {PARAGRAPH}"
    ),
    "itemCount": "How many items the cart has.",
    "subtotal": f"The sum of the items' values. {EXACT}",
    "createdOn": "When the cart was created: RFC 3339, in UTC.",
    "modifiedOn": "When the cart was changed last: RFC 3339, in UTC.",
    "version": "Starts at 1 and rises by one with every change. The ETag has it in quotes.",
}
ITEM = {
    "itemId": "Unique identifier of the item.",
    "menuKey": f"Key of the menu the item is from. {LINE}",
    "menuVersion": "Version of that menu.",
    "menuItemKey": f"Key of the menu item. {ROUNDED}",
    "displayName": f"Display name of the item. {LINE}",
    "currency": "ISO 4217 currency code for the item. It is the cart's.",
    "price": f"Menu price of the item, excluding the price of selected options. {EXACT}",
    "quantity": "Quantity of the item and its selected options to order.",
    "options": "Options the customer selected for the item, in the order in which they were sent.",
    "specialInstructions": (
        f"Instructions for the item. They print in the restaurant kitchen. {PARAGRAPH}"
    ),
    "value": f"The price and its options' prices, times the quantity. {EXACT}",
}
OPTION = {
    "optionSetKey": f"The option set that the option is from. {ROUNDED}",
    "optionSetItemKey": f"Key of the option. {ROUNDED}",
    "displayName": f"Display name of the selected option. {LINE}",
    "currency": "ISO 4217 currency code for the option. It is the cart's.",
    "price": f"Price of the selected option. {EXACT}",
}
ENVELOPE = {
    "message": "Human-readable summary of the outcome.",
    "notifications": "List of notifications about the operation.",
    "data": "Result payload.",
}
PROPERTIES = {
    "CreateCart": {
        **CART,
        "items": (
            "Items, with their selected options, added at creation. May be omitted or empty. They "
            "keep the order in which they were sent."
        ),
    },
    "Cart": CART,
    "CartSummary": CART,
    "CartCreated": {"cartId": "Unique identifier of the new cart."},
    "CartPage": {
        "carts": "The carts of this page, newest first.",
        "nextCursor": (
            "Send it as cursor to get the next page. It is null on the last page. What is in it "
            "may change at any time."
        ),
    },
    "CartItem": ITEM,
    "CartItemRead": ITEM,
    "UpdateCartItem": ITEM,
    "ItemAdded": {"itemId": "Unique identifier of the new item."},
    "CartItemOption": OPTION,
    "CartItemOptionRead": OPTION,
    "Notification": {
        "severity": SEVERITY,
        "text": "Human-readable text.",
        "code": "A code for programs; null with a Success. New ones may come: {codes}.",
        "additionalData": (
            "Extra data; null if the notification is about no single part of the request."
        ),
    },
    "NotificationData": {
        "field": (
            "What the notification is about: a JSON Pointer (RFC 6901) into the request body, or "
            "the name of a path parameter, a query parameter or a header."
        ),
    },
}

PARAMETERS = {
    "profileKey": "Profile key of the customer.",
    "cartId": "The cart.",
    "itemId": "The cart item.",
    "limit": "How many carts a page has at most. Sent at most once.",
    "cursor": "The nextCursor of the page before. Left out for the first page. Sent at most once.",
    "Idempotency-Key": (
        "Extension. Makes it safe to send a request again. The same key and body for the same "
        f"profile and partner within {settings.IDEMPOTENCY_HOURS} hours answers with the first "
        "answer again and creates nothing. Any visible ASCII characters, such as a GUID."
    ),
    "If-Match": (
        "Extension. The ETag of the cart that the change is meant for, a list of them, or *. If "
        "the cart has moved on, the answer is 412."
    ),
    "If-None-Match": (
        "Extension. The ETag of the cart that the caller has, a list of them, or *. If the cart "
        "is still the same, the answer is 304."
    ),
    "Prefer": (
        "Extension. handling=strict (RFC 7240) refuses a member that the body's objects do not "
        "have. Without it the member is ignored, and a Warning tells of it."
    ),
}
HEADERS = {
    "X-Request-ID": "The request's id: the caller's own, or a new one.",
    "ETag": "The version of the cart as it is after the request, in quotes.",
    "Idempotent-Replayed": "Sent when an earlier request had done it: nothing was created now.",
    "Preference-Applied": "Sent when the request asked for it with Prefer.",
    "RateLimit-Limit": "Sent where rates are limited: the requests of a window.",
    "RateLimit-Remaining": "Sent where rates are limited: how many of them are left.",
    "RateLimit-Reset": "Sent where rates are limited: seconds until the window ends.",
    "Retry-After": "After how many seconds it makes sense to try again.",
    "WWW-Authenticate": "The challenge of RFC 6750: what is wrong with the token.",
}
TAGS = {"Carts": "The carts of a customer profile.", "Items": "The items of a cart."}

BETA = "Beta. "
EXTENSION = "Extension to the specification. "
HEAD = " HEAD answers with the same status and headers, and no body."
BAD_REQUEST = "The request fails validation."
NOT_MODIFIED = "The cart is still the one that If-None-Match names. There is no body."
DONE = "The operation is done."
BEARER = (
    "The scope Cart.Write opens every operation, Cart.Read those that read. The service, not the "
    "token, chooses the algorithm by which a token is verified (RFC8725)."
)
