from django.db import migrations, models

from cartsvc.db.migration_operations import AddIndex


class Migration(migrations.Migration):
    """List Changes reads what was written in order of time."""

    atomic = False

    dependencies = [("carts", "0013_deleted_cart_keys")]

    operations = [
        AddIndex("cartchange", models.Index(fields=["at"], name="carts_cartchange_at")),
        AddIndex(
            "deletedcart", models.Index(fields=["deleted_on"], name="carts_deletedcart_deleted_on")
        ),
    ]
