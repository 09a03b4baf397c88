"""Requests that may be sent twice: a record, written with what it protects."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, OperationalError, models, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.problems import IDEMPOTENCY_KEY_REUSED, REQUEST_IN_PROGRESS
from cartsvc.db.errors import is_held

KEY_MAX_LENGTH = 255


class IdempotencyRecord(models.Model):
    """A request that its caller gave a key to, and the id of what it created."""

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

    @classmethod
    def create_once(
        cls, profile_key: UUID, key: str, fingerprint: bytes, write: Callable[[UUID], object]
    ) -> tuple[UUID, bool]:
        """Call `write` with a new id, unless an earlier request of this key did.

        `fingerprint` is the same for the same request only.

        Returns:
            The id, and whether an earlier request had created it.

        Raises:
            Refused: `idempotency_key_reused`, or `request_in_progress` when a twin has
                run for longer than the database waits for a lock.
        """
        record = cls(profile_key=profile_key, key=key, fingerprint=fingerprint)
        try:
            with transaction.atomic():
                with _request_in_progress():
                    record.save(force_insert=True)
                write(record.created_id)
        except IntegrityError:
            records = cls.objects.filter(pk=record.pk)
            earlier = records.first()
            if earlier is None:
                raise
            if earlier.created_on < timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS):
                # Together, or a request that is refused would have deleted something.
                with transaction.atomic():
                    with _request_in_progress():
                        records.filter(created_on=earlier.created_on).delete()
                    return cls.create_once(profile_key, key, fingerprint, write)
            if bytes(earlier.fingerprint) != fingerprint:
                IDEMPOTENCY_KEY_REUSED.refuse(field="key")
            return earlier.created_id, True
        return record.created_id, False


@contextmanager
def _request_in_progress() -> Iterator[None]:
    """Refuse to wait for a twin any longer than the database waits for a lock."""
    try:
        yield
    except OperationalError as error:
        if is_held(error):
            REQUEST_IN_PROGRESS.refuse(field="key")
        raise
