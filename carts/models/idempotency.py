"""Idempotency records, which make it safe to send a request twice.

A record is written in the same transaction as the cart or item that it protects.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, models
from django.utils import timezone
from uuid_utils.compat import uuid7

from carts.cart_errors import IdempotencyKeyReused, RequestInProgress
from carts.limits import MAX_LENGTHS
from cartsvc.db.outages import is_held
from cartsvc.db.statements import Insert, Statement, atomic

KEY_MAX_LENGTH = 255

# A stored key begins with the token's partner, if it has one, and a space, which no key
# contains. So the keys of two partners never collide.
STORED_MAX_LENGTH = KEY_MAX_LENGTH + 1 + MAX_LENGTHS["partner_key"]


class IdempotencyRecord(models.Model):
    """The key of a request, a fingerprint of the request, and the id of what it created."""

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

        The key belongs to the profile and, if the token is bound to a partner, to that partner.
        `fingerprint` is a digest of the request. Returns the id, and what `write` returned; None
        if an earlier request had created it.

        Raises:
            ApiError: `idempotency_key_reused`, or `request_in_progress` if the same request is
                already running and does not end within the lock timeout.
        """
        # Cutting is safe: no cart has a longer partner key, so `write` refuses the request.
        stored = key if partner_key is None else f"{partner_key} {key}"[:STORED_MAX_LENGTH]
        record = cls(profile_key=profile_key, key=stored, fingerprint=fingerprint)
        with atomic() as cursor:
            records = cls.objects.filter(pk=record.pk)
            try:
                INSERT.run(cursor, **vars(record))
                inserted = cursor.rowcount
                # Take a lock, because locking writes to the WAL. So the answer waits for the
                # standby, as the first answer did, and still holds after a failover.
                earlier = None if inserted else records.select_for_update().first()
            except OperationalError as error:
                if is_held(error):
                    raise RequestInProgress from error
                raise
            if earlier and earlier.created_on >= cls.expired_before():
                if bytes(earlier.fingerprint) != fingerprint:
                    raise IdempotencyKeyReused
                return earlier.created_id, None
            if earlier:
                record.save(force_update=True)
            elif not inserted:  # it has just been purged
                return cls.create_once(profile_key, partner_key, key, fingerprint, write)
            return record.created_id, write(record.created_id)

    @staticmethod
    def expired_before() -> datetime:
        """Return the moment before which records are older than IDEMPOTENCY_HOURS."""
        return timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS)


NAMES = [field.attname for field in IdempotencyRecord._meta.concrete_fields]
IF_NEW = f"{Insert(IdempotencyRecord, NAMES).of_rows(1)} ON CONFLICT DO NOTHING"
INSERT = Statement(IF_NEW, IdempotencyRecord, NAMES)
