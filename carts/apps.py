from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class CartsConfig(AppConfig):
    name = "carts"
    verbose_name = "Support desk"


class DeskConfig(admin_apps.AdminConfig):
    """Django's admin, with the support desk as its site."""

    default = False  # of this module
    default_site = "carts.site.Desk"
