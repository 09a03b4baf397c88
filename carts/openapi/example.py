"""The cart that `manage.py serve`, the README and the API document show."""

from typing import Any

FIRST_CART: dict[str, Any] = {
    "partnerKey": "DEMO",
    "restaurantKey": 1,
    "platform": "curl",
    "orderingChannel": "WEB",
    "fulfilmentChannel": "DELIVERY",
    "currency": "EUR",
    "items": [
        {
            "menuKey": "DINNER",
            "menuVersion": 1,
            "menuItemKey": 42,
            "displayName": "Pizza Margherita",
            "currency": "EUR",
            "price": 9.5,
            "quantity": 2,
            "options": [
                {
                    "optionSetKey": 7,
                    "optionSetItemKey": 71,
                    "displayName": "Extra mozzarella",
                    "currency": "EUR",
                    "price": 1.25,
                }
            ],
        }
    ],
}
