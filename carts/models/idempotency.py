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
from carts.validators import MAX_LENGTHS
from cartsvc.db.errors import is_held

KEY_MAX_LENGTH = 255

# A stored key is the partner's whose token brought it, a space, which no key holds, and the
# key: one partner's keys are no concern of another's.
STORED_MAX_LENGTH = KEY_MAX_LENGTH + 1 + MAX_LENGTHS["partner_key"]


class IdempotencyRecord(models.Model):
    """A request that its caller gave a key to, and the id of what it created."""

    pk = models.CompositePrimaryKey("profile_key", "key")
    profile_key = models.UUIDField()
    key = models.CharField(max_length=STORED_MAX_LENGTH)
    fingerprint = models.BinaryField(max_length=32)
    created_id = models.UUIDField(default=uuid7)
    created_on = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "idempotency record"

    def __str__(self) -> str:
        return self.key

    @classmethod
    def create_once(
        cls,
        profile_key: UUID,
        partner_key: str | None,
        key: str,
        fingerprint: bytes,
        write: Callable[[UUID], int],
    ) -> tuple[UUID, int | None]:
        """Call `write` with a new id, unless an earlier request of this key did.

        The key is the profile's and, if the request was bound to one, the partner's.
        `fingerprint` is the same for the same request only.

        Returns:
            The id, and what `write` returned; None if an earlier request had created it.

        Raises:
            Refused: `idempotency_key_reused`, or `request_in_progress` when a twin has
                run for longer than the database waits for a lock.
        """
        # No cart is a longer partner's: such a request is refused by `write`.
        stored = key if partner_key is None else f"{partner_key} {key}"[:STORED_MAX_LENGTH]
        record = cls(profile_key=profile_key, key=stored, fingerprint=fingerprint)
        saved = False
        try:
            with transaction.atomic():
                with _request_in_progress():
                    record.save(force_insert=True)
                saved = True
                return record.created_id, write(record.created_id)
        except IntegrityError:
            if saved:
                raise
            # In a transaction, or a request that is refused would have deleted something.
            with transaction.atomic():
                records = cls.objects.filter(pk=record.pk)
                # Locked, because a lock is written to the log: the answer waits for a standby
                # as the first one did, and is as true after a failover.
                with _request_in_progress():
                    earlier = records.select_for_update().first()
                if earlier and not earlier.is_expired():
                    if bytes(earlier.fingerprint) != fingerprint:
                        IDEMPOTENCY_KEY_REUSED.refuse(field="key")
                    return earlier.created_id, None
                if earlier:
                    records.filter(created_on=earlier.created_on).delete()
                # Without one, a twin has just put its own in the place of an expired one.
                return cls.create_once(profile_key, partner_key, key, fingerprint, write)

    def is_expired(self) -> bool:
        """Return whether the key may be used for another request by now."""
        return self.created_on < timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS)


@contextmanager
def _request_in_progress() -> Iterator[None]:
    """Refuse to wait for a twin any longer than the database waits for a lock."""
    try:
        yield
    except OperationalError as error:
        if is_held(error):
            REQUEST_IN_PROGRESS.refuse(field="key")
        raise
