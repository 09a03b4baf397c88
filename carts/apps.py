from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class CartsConfig(AppConfig):
    name = "carts"
    verbose_name = "Support desk"


class DeskConfig(admin_apps.AdminConfig):
    """Django's admin, with the support desk as its site."""

    default = False  # of this module
    default_site = "carts.admin.site.Desk"

    def ready(self) -> None:
        super().ready()
        # Not in `carts.admin`, which Django imports before it has made the site.
        for name in ("desk", "accounts"):
            import_module(f"carts.admin.{name}")
