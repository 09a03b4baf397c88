from django.apps import AppConfig


class CartServiceConfig(AppConfig):
    name = "cartsvc"

    def ready(self) -> None:
        from cartsvc import checks  # noqa: F401, PLC0415 (registers the system checks)
