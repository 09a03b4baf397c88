from django.db import migrations, models

from cartsvc.db.migration_operations import AddIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("carts", "0011_validate_order_reference")]

    operations = [
        AddIndex(
            "cart",
            models.Index(
                fields=["profile_key", "stored_status", "id"],
                name="carts_cart_profile_status_id",
                condition=models.Q(("closed_on__isnull", False)),
            ),
        ),
    ]
