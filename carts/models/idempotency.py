"""Idempotency records, each written in the transaction of the change that it protects."""

import hashlib
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple, Self
from uuid import UUID

import simplejson
from django.db import OperationalError, connection, models
from django.utils import timezone

from carts.cart_errors import IdempotencyKeyReused, RequestInProgress
from carts.records import NewCart
from carts.value_types import defaults_of, types_of
from cartsvc.db.compiled_statements import insert_row
from cartsvc.db.database_errors import is_row_held

KEY_MAX_LENGTH = 255
KEPT_HOURS = 24  # a promise to callers
KEPT_TIME = timedelta(hours=KEPT_HOURS)

# A stored key begins with the token's partner, if it has one, and a space, which no key
# contains. So the keys of two partners never collide.
STORED_MAX_LENGTH = KEY_MAX_LENGTH + 1 + types_of(NewCart)["partner_key"].max_length


class Answer(NamedTuple):
    """What a request is answered, and with an Idempotency-Key once more.

    `data` is JSON text, `version` that of the cart, for the ETag; None if the answer has none.
    """

    data: str | None = None
    version: int | None = None
    is_change: bool = True  # or it was like that already
    shows_cart: bool = False  # because a change was to return it


class IdempotencyRecord(models.Model):
    """The key of a request, a digest of each of its parts, and its `Answer`."""

    pk = models.CompositePrimaryKey("profile_key", "key")
    profile_key = models.UUIDField()
    key = models.CharField(max_length=STORED_MAX_LENGTH)
    digest = models.BinaryField(max_length=32)
    data = models.TextField(null=True)
    version = models.PositiveBigIntegerField(null=True)
    is_change = models.BooleanField(default=True)
    shows_cart = models.BooleanField(default=False)
    created_on = models.DateTimeField(default=timezone.now)

    is_new = True  # no earlier request has made it

    def __str__(self) -> str:
        return self.key

    @classmethod
    def of_request(cls, profile_key: UUID, partner_key: str | None, key: str, parts: Any) -> Self:
        """Return the record of a request: a new one, or that of the same request sent before.

        The key belongs to the profile and, if the token is bound to a partner, to that partner.
        An error names those of the request's `parts`, a dict, that differ.
        """
        length = 32 // len(parts)  # of what all share
        texts = [ENCODER.encode(part) for part in parts.values()]
        digests = [hashlib.sha256(text.encode()).digest()[:length] for text in texts]
        # Cutting is safe: no cart has a longer partner key, so the change is an error.
        stored = key if partner_key is None else f"{partner_key} {key}"[:STORED_MAX_LENGTH]
        record = cls(profile_key=profile_key, key=stored, digest=b"".join(digests))
        try:
            with connection.cursor() as cursor:
                INSERT.send(cursor, vars(record))
                if cursor.rowcount:
                    return record
            # Take a lock, because locking writes to the WAL. So the answer waits for the
            # standby, as the first answer did, and still holds after a failover.
            earlier = cls.objects.select_for_update().filter(pk=record.pk).first()
        except OperationalError as error:
            if is_row_held(error):
                raise RequestInProgress from error
            raise
        if earlier is None:  # it has just been purged
            return cls.of_request(profile_key, partner_key, key, parts)
        if earlier.created_on < timezone.now() - KEPT_TIME:
            record.save(force_update=True)
            return record
        kept, named = bytes(earlier.digest), enumerate(zip(parts, digests, strict=True))
        if differs := [name for n, (name, one) in named if not kept.startswith(one, n * length)]:
            raise IdempotencyKeyReused(differs=differs, parts=", ".join(differs))
        earlier.is_new = False
        return earlier

    @property
    def kept(self) -> Answer:
        return Answer(self.data, self.version, self.is_change, self.shows_cart)

    def keep(self, answer: Answer) -> None:
        type(self).objects.filter(pk=self.pk).update(**answer._asdict())


def _as_json(value: object) -> Any:
    """Return the same for values that are equal, of which only what is sent counts.

    So a key outlives a release that adds an optional member.
    """
    match value:
        case Decimal():
            return f"{value.normalize():f}"
        case tuple() if hasattr(value, "_asdict"):
            default = defaults_of(type(value))
            sent = value._asdict().items()
            return {name: one for name, one in sent if name not in default or one != default[name]}
        case tuple():
            return list(value)
    return str(value)


ENCODER = simplejson.JSONEncoder(
    use_decimal=False, tuple_as_array=False, namedtuple_as_object=False, default=_as_json
)
INSERT = insert_row(IdempotencyRecord, " ON CONFLICT DO NOTHING")
