from django.apps import AppConfig


class CartServiceConfig(AppConfig):
    """The project as an application, so that its commands and checks are found."""

    name = "cartsvc"

    def ready(self) -> None:
        from cartsvc import checks  # noqa: F401, PLC0415 (registers the system checks)
