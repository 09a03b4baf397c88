from typing import Any, ClassVar

from axes.models import AccessAttempt
from axes.utils import reset
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from carts.admin.formatting import format_moment, format_value, isolate
from carts.admin.site import CHOSEN_BY_OTHERS
from carts.models import FirstPassword
from carts.roles import ROLES

admin.site.unregister(User)

MANAGES, BACKEND = "auth.change_user", "django.contrib.auth.backends.ModelBackend"

# What the log shows of an account.
LOGGED = {"username", "first_name", "last_name", "email", "role", "is_superuser", "is_active"}


class RoleField(forms.ModelChoiceField):
    widget = forms.RadioSelect
    default_error_messages: ClassVar = {"required": "Choose a role."}

    def label_from_instance(self, obj: Group) -> str:
        return f"{obj.name}: {ROLES[obj.name].words}" if obj.name in ROLES else obj.name


class ChangeForm(UserChangeForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Whoever may not log in is shown as not active.
        self.initial["is_active"] = self.instance.is_active and self.instance.is_staff
        self.fields["is_active"].help_text = "Whether this account may log in."

    def clean(self) -> dict[str, Any]:
        """Refuse to leave an account without a role, or the desk without a lead."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        account, field = self.instance, self.fields["role"]
        if not (cleaned.get("role") or cleaned.get("is_superuser") or "role" in self.errors):
            self.add_error("role", field.error_messages["required"])
        if self.errors or not account.has_perm(MANAGES):
            return cleaned
        role = Permission.objects.filter(group=cleaned["role"], codename="change_user")
        manages = cleaned["is_active"] and (cleaned.get("is_superuser") or role.exists())
        others = User.objects.with_perm(
            MANAGES, include_superusers=account.is_superuser, backend=BACKEND
        )
        if not manages and not others.filter(is_staff=True).exclude(pk=account.pk).exists():
            raise ValidationError("The desk would have no lead. Make another account a lead first.")
        return cleaned


class PasswordForm(AdminPasswordChangeForm):
    """Django's form, which does not offer to take the password away: nobody could log in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.pop("usable_password", None)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Django's pages for accounts. Only a superuser manages those that may do more than the viewer.

    No account is deleted: the log of what it changed would be deleted from the carts' histories.
    """

    list_display = ("username", "role", "is_active", "locked", "first_name", "last_name")
    list_filter = search_fields = ()
    form, add_form, change_password_form = ChangeForm, UserCreationForm, PasswordForm
    change_user_password_template = "admin/auth/user/password.html"  # noqa: S105
    add_fieldsets = ((None, {"fields": ("username", "password1", "password2", "role")}),)
    readonly_fields = ("last_login", "locked")
    actions = ("unlock",)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        # Django looks for the account first, and tells strangers which there are.
        if not self.has_view_permission(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts = super().get_queryset(request)
        if not request.user.is_superuser:
            accounts = accounts.filter(is_superuser=False).exclude(
                Q(groups__in=_groups_above(request.user))
                | Q(user_permissions__in=_missing_permissions(request.user))
            )
        # As django-axes counts: the attempts of a name from a network, in all browsers.
        since = timezone.now() - settings.AXES_COOLOFF_TIME
        counted = AccessAttempt.objects.filter(attempt_time__gte=since).values("ip_address")
        locks = counted.annotate(count=Sum("failures_since_start"), last=Max("attempt_time"))
        locks = locks.filter(username=OuterRef("username"), count__gte=settings.AXES_FAILURE_LIMIT)
        end = Subquery(locks.order_by("-last").values("last")[:1]) + settings.AXES_COOLOFF_TIME
        return accounts.annotate(locked_until=end).prefetch_related("groups")

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        if not obj:
            return self.add_fieldsets
        who = ("first_name", "last_name", "email")
        more = ("is_superuser",) if request.user.is_superuser else ()
        fields = ("username", "password", *who, "role", *more, "is_active", "locked", "last_login")
        return ((None, {"fields": fields}),)

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Return a form with one role, out of those that the viewer may give."""
        roles = Group.objects.exclude(pk__in=_groups_above(request.user).values("pk"))
        given = obj.groups.order_by("pk").last() if obj else None
        role = RoleField(roles.order_by("pk"), required=not obj, initial=given)
        form = type("AccountForm", (self.form if obj else self.add_form,), {"role": role})
        return super().get_form(request, obj, form=form, **kwargs)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        obj.is_staff = obj.is_active
        super().save_model(request, obj, form, change)
        if not change:
            FirstPassword.objects.create(account=obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if "role" in form.changed_data and (role := form.cleaned_data["role"]):
            form.instance.groups.set([role])

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Say what was and what is, the role as well."""
        if form.changed_data == ["password"]:
            return "Password changed"
        names = [name for name in form.changed_data if name in LOGGED]
        changes = (
            f"{form[name].label.lower()} {_shown(form[name].initial)} → "
            f"{_shown(form.cleaned_data[name])}"
            for name in names
        )
        return f"{'Added' if add else 'Changed'}: {'; '.join(changes)}"

    @transaction.atomic
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:  # noqa: A002
        response: HttpResponse = super().user_change_password(request, id, form_url)
        if response.status_code == 302 and id != str(request.user.pk):
            FirstPassword.objects.get_or_create(account_id=int(id))
        return response

    def role(self, account: User) -> str:
        if account.is_superuser:
            return "superuser"
        return ", ".join(group.name for group in account.groups.all()) or "none"

    def locked(self, account: Any) -> str:
        return f"until {format_moment(account.locked_until)}" if account.locked_until else "no"

    @admin.action(permissions=["change"], description="Unlock")
    def unlock(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        names = sorted(queryset.values_list("username", flat=True))
        for name in names:
            reset(username=name)
        messages.success(request, f"Not locked any more: {', '.join(map(isolate, names))}.")


@receiver(user_logged_in)
def ask_for_a_password(request: HttpRequest, user: User, **_: object) -> None:
    request.session[CHOSEN_BY_OTHERS] = FirstPassword.objects.filter(account=user).exists()


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_value(str(value) if value else None)


def _missing_permissions(user: User | AnonymousUser) -> QuerySet[Permission]:
    if user.is_superuser:
        return Permission.objects.none()
    held = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return Permission.objects.exclude(pk__in=held.values("pk"))


def _groups_above(user: User | AnonymousUser) -> QuerySet[Group]:
    return Group.objects.filter(permissions__in=_missing_permissions(user))
