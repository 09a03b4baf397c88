"""The fields that Change Cart and Change Item may change. The others stay as they are."""

CHANGEABLE_CART_FIELDS = (
    *("platform", "ordering_channel", "fulfilment_channel"),
    *("note", "special_instructions"),
)
CHANGEABLE_ITEM_FIELDS = ("quantity", "special_instructions")
