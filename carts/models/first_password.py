from django.conf import settings
from django.db import models


class FirstPassword(models.Model):
    """An account whose password somebody else has chosen: its next sign-in asks for another."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )

    def __str__(self) -> str:
        return str(self.account)
