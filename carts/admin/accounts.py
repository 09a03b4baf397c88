from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Django's pages for accounts, which delete none.

    With an account, the log of what it changed would be deleted from the carts' histories.
    """

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
