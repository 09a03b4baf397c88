from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate

GROUPS = {
    "Cart support": ["view_cart"],
    "Cart support lead": ["view_cart", "change_cart", "delete_cart"],
}


class CartsConfig(AppConfig):
    name = "carts"
    verbose_name = "Support desk"

    def ready(self) -> None:
        # `migrate` and `flush` send it for each application. By auth's, all permissions are made.
        post_migrate.connect(create_groups, sender=installed.get_app_config("auth"))


class DeskConfig(admin_apps.AdminConfig):
    """Django's admin, with the support desk as its site."""

    default = False  # of this module
    default_site = "carts.site.Desk"


def create_groups(using: str, apps: Any = installed, **_: Any) -> None:
    """Create the groups of the support desk that are missing. Those that are there stay."""
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
        permissions = apps.get_model("auth", "Permission").objects.using(using)
    except LookupError:  # the migrations of auth are being undone
        return
    for name, codenames in GROUPS.items():
        may = permissions.filter(content_type__app_label="carts", codename__in=codenames)
        if may:
            group, is_new = groups.get_or_create(name=name)
            if is_new:
                group.permissions.set(may)
