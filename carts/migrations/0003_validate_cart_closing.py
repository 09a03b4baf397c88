from django.db import migrations, models

from cartsvc.db.migration_operations import AddIndex, ValidateCheck


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("carts", "0002_cart_closing")]

    operations = [
        ValidateCheck("cart", "carts_cart_reference_line"),
        ValidateCheck("cart", "carts_cart_status"),
        AddIndex(
            "cart",
            models.Index(
                fields=["reference", "id"],
                name="carts_cart_reference_id",
                condition=models.Q(("reference__isnull", False)),
            ),
        ),
    ]
