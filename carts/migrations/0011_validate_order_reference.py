from django.db import migrations, models

from cartsvc.db.migration_operations import AddIndex, ValidateCheck


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("carts", "0010_order_reference")]

    operations = [
        ValidateCheck("cart", "carts_cart_reference_line"),
        ValidateCheck("cart", "carts_cart_order_reference_line"),
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
    ]
