from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate

from carts.roles import ROLES


class CartsConfig(AppConfig):
    name = "carts"
    verbose_name = "Support desk"

    def ready(self) -> None:
        # `migrate` and `flush` send it once per application. After auth's, all permissions exist.
        post_migrate.connect(create_groups, sender=installed.get_app_config("contenttypes"))


class DeskConfig(admin_apps.AdminConfig):
    """Django's admin, with the support desk as its site."""

    default = False  # of this module
    default_site = "carts.admin.site.Desk"

    def ready(self) -> None:
        super().ready()
        # Not in `carts.admin`, which Django imports before it has made the site.
        for name in ("cart_admin", "accounts"):
            import_module(f"carts.admin.{name}")


def create_groups(using: str, apps: Any = installed, **_: Any) -> None:
    """Create the groups of roles that are missing. Those that are there stay."""
    groups = apps.get_model("auth", "Group").objects.using(using)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for name, role in ROLES.items():
        ours = permissions.filter(content_type__app_label__in=["carts", "auth"])
        may = ours.filter(codename__in=role.permissions)
        if len(may) == len(role.permissions) and not groups.filter(name=name).exists():
            groups.create(name=name).permissions.set(may)
