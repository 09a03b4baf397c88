from typing import Any

from axes.utils import reset
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from carts.admin.formatting import format_value, isolate

admin.site.unregister(User)

# What the desk calls them, on Django's own pages as well.
User._meta.verbose_name, User._meta.verbose_name_plural = "account", "accounts"
apps.get_app_config("auth").verbose_name = "Accounts and groups"


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Django's pages for accounts. Who is no superuser manages those that may do no more.

    No account is deleted: the log of what it changed would be deleted from the carts' histories.
    """

    list_display = ("username", "first_name", "last_name", "may", "is_staff", "is_active")
    list_filter = ("groups", "is_staff", "is_active")  # a lead sees no superuser
    add_fieldsets = (*UserAdmin.add_fieldsets, ("Role", {"fields": ("is_staff", "groups")}))
    # Of whoever is no superuser.
    narrow_fieldsets = (
        (None, {"fields": ("username", "password", "first_name", "last_name", "email")}),
        ("Role", {"fields": ("is_active", "is_staff", "groups")}),
    )
    # Typed, one could be a time that Python cannot read back.
    readonly_fields = ("last_login", "date_joined")
    actions = ("free_names",)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts = super().get_queryset(request)
        if not request.user.is_superuser:
            accounts = accounts.filter(is_superuser=False).exclude(
                Q(groups__in=_groups_above(request.user))
                | Q(user_permissions__in=_missing_permissions(request.user))
            )
        return accounts.prefetch_related("groups")

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        is_narrow = obj and not request.user.is_superuser
        return self.narrow_fieldsets if is_narrow else super().get_fieldsets(request, obj)

    def get_changeform_initial_data(self, request: HttpRequest) -> Any:
        return {"is_staff": True, **super().get_changeform_initial_data(request)}

    def formfield_for_manytomany(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "groups" and not request.user.is_superuser:
            above = _groups_above(request.user)
            kwargs["queryset"] = Group.objects.exclude(pk__in=above.values("pk"))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the groups as well, and warn if the account cannot use the desk."""
        super().save_related(request, form, formsets, change)
        account = form.instance
        missing = [] if account.is_staff else ["“Staff status”, to log in"]
        if not account.is_superuser and not account.groups.exists():
            missing.append("a group, to see carts")
        if account.is_active and missing:
            reason = f"Account {format_value(str(account))} cannot use the desk yet."
            messages.warning(request, f"{reason} It still needs {' and '.join(missing)}.")

    @admin.display(description="groups")
    def may(self, account: User) -> str:
        if account.is_superuser:
            return "superuser"
        return ", ".join(group.name for group in account.groups.all())

    @admin.action(permissions=["change"], description="Free the names that failed logins lock")
    def free_names(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for account in queryset:
            reset(username=account.username)
        names = ", ".join(sorted(isolate(account.username) for account in queryset))
        messages.success(request, f"These names may log in again: {names}.")


def _missing_permissions(user: User | AnonymousUser) -> QuerySet[Permission]:
    own = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return Permission.objects.exclude(pk__in=own.values("pk"))


def _groups_above(user: User | AnonymousUser) -> QuerySet[Group]:
    return Group.objects.filter(permissions__in=_missing_permissions(user))
