"""Request bodies with the specification's names. Each call returns a new one."""

from typing import Any

from tests.support.fields import OPTIONAL


def option(**changes: Any) -> dict[str, Any]:
    return {
        "optionSetKey": 501,
        "optionSetItemKey": 9_007_199_254_740_993,
        "displayName": "Extra mozzarella",
        "currency": "EUR",
        "price": 1.25,
        **changes,
    }


Parts = list[Any]


def item(*, options: int | Parts = 1, **changes: Any) -> dict[str, Any]:
    """Return a CartItem with all its fields and these options, or this many."""
    if isinstance(options, int):
        options = [option(optionSetItemKey=number) for number in range(options)]
    return {
        "menuKey": "DINNER-2026",
        "menuVersion": 7,
        "menuItemKey": 4_611_686_018_427_387_904,
        "displayName": "Pizza Margherita",
        "currency": "EUR",
        "price": 10.1,
        "quantity": 2,
        "options": options,
        "specialInstructions": "No basil",
        **changes,
    }


def bare_item(**changes: Any) -> dict[str, Any]:
    """Return a CartItem with its required fields only."""
    required = item().keys() - OPTIONAL - {"options"}
    return {name: value for name, value in item().items() if name in required} | changes


def bare_cart(**changes: Any) -> dict[str, Any]:
    """Return a CreateCart with its required fields only."""
    return {
        "partnerKey": "ACME",
        "restaurantKey": 4711,
        "platform": "ios-app",
        "orderingChannel": "MOBILE",
        "fulfilmentChannel": "DELIVERY",
        "currency": "EUR",
        **changes,
    }


def cart(*, items: int | Parts = 1, options: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a CreateCart with all its fields and these items.

    If `items` is a number, it has that many items with `options` options each.
    """
    if isinstance(items, int):
        items = [item(options=options) for _ in range(items)]
    return bare_cart(
        **{
            "items": items,
            "note": "Invoice to the office",
            "specialInstructions": "Ring twice\nSecond floor",
            **changes,
        }
    )
