"""Requests that may be sent twice: a record, written with what it protects."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, OperationalError, models, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from cartsvc.api.envelope import refuse

KEY_MAX_LENGTH = 255

# SQLSTATE 55P03, lock_not_available: a twin has written its record and not committed yet.
LOCK_NOT_AVAILABLE = "55P03"


class IdempotencyRecord(models.Model):
    """A request that carried an Idempotency-Key, and the id of what it created."""

    pk = models.CompositePrimaryKey("profile_key", "key")
    profile_key = models.UUIDField()
    key = models.CharField(max_length=KEY_MAX_LENGTH)
    fingerprint = models.BinaryField(max_length=32)
    created_id = models.UUIDField(default=uuid7)
    created_on = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "idempotency record"

    def __str__(self) -> str:
        return self.key

    def run(self, write: Callable[[UUID], object]) -> bool:
        """Call `write` with the new id, unless an earlier request did: then take over its id.

        Returns:
            Whether an earlier request had done it.

        Raises:
            Refused: `idempotency_key_reused`, or `request_in_progress` when a twin has
                run for longer than the database waits for a lock.
        """
        try:
            with transaction.atomic():
                with _request_in_progress():
                    self.save(force_insert=True)
                write(self.created_id)
        except IntegrityError:
            earlier = IdempotencyRecord.objects.filter(pk=self.pk).first()
            if earlier is None:
                raise
            if earlier.created_on < timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS):
                # Together, or a request that is refused would have deleted something.
                with transaction.atomic():
                    with _request_in_progress():
                        expired = IdempotencyRecord.objects.filter(pk=self.pk)
                        expired.filter(created_on=earlier.created_on).delete()
                    return self.run(write)
            self._check_same_request(earlier)
            self.created_id = earlier.created_id
            return True
        return False

    def _check_same_request(self, earlier: "IdempotencyRecord") -> None:
        if bytes(earlier.fingerprint) != self.fingerprint:
            refuse(
                "idempotency_key_reused",
                "This Idempotency-Key came with another request before.",
                "Idempotency-Key",
            )


@contextmanager
def _request_in_progress() -> Iterator[None]:
    """Refuse to wait for a twin any longer than the database waits for a lock."""
    try:
        yield
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == LOCK_NOT_AVAILABLE:
            refuse(
                "request_in_progress",
                "A request with this Idempotency-Key is still running.",
                "Idempotency-Key",
            )
        raise
