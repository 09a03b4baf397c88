"""What is kept of the desk's staff beside Django's own accounts and log."""

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.db import models

from carts.models.cart_change import REQUEST_ID_LENGTH


class FirstPassword(models.Model):
    """An account whose password somebody else has chosen: its next sign-in asks for another."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )

    def __str__(self) -> str:
        return str(self.account)


class StaffEntry(models.Model):
    """Which cart an entry of Django's log is about, and the version that the change made.

    The entry outlives its cart. A note, which makes no version, has that of the cart as it was.
    """

    log_entry = models.OneToOneField(
        LogEntry, on_delete=models.CASCADE, primary_key=True, related_name="staff_entry"
    )
    cart_id = models.UUIDField(db_index=True)
    profile_key = models.UUIDField(db_index=True)
    version = models.PositiveBigIntegerField(null=True)
    # What one request did to several carts is one action.
    request_id = models.CharField(max_length=REQUEST_ID_LENGTH, null=True)

    def __str__(self) -> str:
        return f"{self.cart_id} of {self.profile_key}"
