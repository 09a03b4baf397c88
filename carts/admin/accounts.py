from typing import Any

from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest


class AccountAdmin(UserAdmin):
    """Django's pages for accounts, which delete none.

    With an account, the log of what it changed would be deleted from the carts' histories.
    """

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
