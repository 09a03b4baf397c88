from django.db import migrations

from cartsvc.db.operations import ValidateCheck


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("carts", "0002_cart_closing")]

    operations = [
        ValidateCheck("cart", "carts_cart_reference_line"),
        ValidateCheck("cart", "carts_cart_status"),
    ]
