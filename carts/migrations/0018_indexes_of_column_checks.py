from django.db import migrations, models

from cartsvc.db.migration_operations import AddIndex, Analyze


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("carts", "0017_column_checks")]

    operations = [
        AddIndex(
            "cart",
            models.Index(
                fields=["reference", "id"],
                name="carts_cart_reference_id",
                condition=models.Q(("reference__isnull", False)),
            ),
        ),
        AddIndex(
            "cart",
            models.Index(
                fields=["order_reference", "id"],
                name="carts_cart_order_reference_id",
                condition=models.Q(("order_reference__isnull", False)),
            ),
        ),
        AddIndex(
            "cart",
            models.Index(
                fields=["profile_key", "stored_status", "id"],
                name="carts_cart_profile_status_id",
                condition=models.Q(("closed_on__isnull", False)),
            ),
        ),
        Analyze("carts_cart"),
        Analyze("carts_cartitem"),
        Analyze("carts_cartitemoption"),
    ]
