"""Rows that only the manager's writes change.

An instance may be older than the row, and a statement for many rows looks at no other row. Either
would leave a cart whose totals, currency or history are wrong. So both refuse, and name the methods
that look at the cart under its lock.
"""

from typing import Any

from django.db import models
from django.db.models.signals import pre_save
from django.dispatch import receiver


def _refuse(*_: object, **__: object) -> Any:
    raise TypeError(
        "A cart, its items and its history are written with Cart.objects.create_with_items(...), "
        "cart.change(...), cart.add_item(...), cart.add_items(...), cart.replace_items(...), "
        "cart.close(...), cart.reopen(), cart.move(...), Cart.objects.delete_cart(cart.pk), "
        "item.change(options=[...]), item.replace(...) and item.remove(). purge_carts deletes what "
        "has expired."
    )


class GuardedQuerySet(models.QuerySet[Any]):
    """Rows to read. Every write refuses."""

    create = update = delete = bulk_create = _refuse


class GuardedModel(models.Model):
    """A row that only `Cart.objects` writes."""

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True
        # `items.add` and `items.set` go by the base manager.
        base_manager_name = "objects"

    save = delete = _refuse


@receiver(pre_save)
def refuse_to_save(sender: type[models.Model], **_: object) -> None:
    """Refuse what does not call `save`: `save_base`, and the loading of fixtures."""
    if issubclass(sender, GuardedModel):
        _refuse()
