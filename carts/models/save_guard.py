"""Rows that only the manager's writes change.

An instance may be older than the row, and a statement for many rows looks at no other row. Either
would leave a cart whose totals, currency or history are wrong. So both refuse, and name the method
that looks at the cart under its lock.
"""

from typing import Any

from django.db import models
from django.db.models.signals import pre_save
from django.dispatch import receiver


class GuardedQuerySet(models.QuerySet[Any]):
    """Rows to read. Every write refuses with the model's `HOW_TO_WRITE`."""

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise TypeError(self.model.HOW_TO_WRITE)

    create = update = delete = bulk_create = _refuse


class GuardedModel(models.Model):
    """A row that only `Cart.objects` writes. `HOW_TO_WRITE` names the method to use instead."""

    HOW_TO_WRITE: str

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True
        # `items.add` and `items.set` go by the base manager.
        base_manager_name = "objects"

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise TypeError(self.HOW_TO_WRITE)

    save = delete = _refuse


@receiver(pre_save)
def refuse_to_save(sender: type[models.Model], **_: object) -> None:
    """Refuse what does not call `save`: `save_base`, and the loading of fixtures."""
    if issubclass(sender, GuardedModel):
        raise TypeError(sender.HOW_TO_WRITE)
