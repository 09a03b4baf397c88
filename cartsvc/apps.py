from django.apps import AppConfig


class CartServiceConfig(AppConfig):
    name = "cartsvc"
