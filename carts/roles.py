"""The roles of staff, each a group of Django's, from one to the next with more permissions."""

from typing import NamedTuple


class Role(NamedTuple):
    """What a role may do: in words, and the code names of the permissions."""

    words: str
    permissions: tuple[str, ...]


ROLES = {
    "Cart support": Role("sees carts, and changes nothing", ("view_cart",)),
    "Cart support agent": Role(
        "changes carts and their items, and puts back what was changed",
        ("view_cart", "change_cart"),
    ),
    # What a lead may do with accounts, `carts.admin.accounts` narrows further.
    "Cart support lead": Role(
        "does all of this, deletes carts and manages accounts",
        ("view_cart", "change_cart", "delete_cart", "view_user", "add_user", "change_user"),
    ),
}
