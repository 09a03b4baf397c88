from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("carts", "0002_support_groups")]

    operations = [
        migrations.AddIndex(
            model_name="cart",
            index=models.Index(
                fields=["restaurant_key", "id"], name="carts_cart_restaurant_key_id"
            ),
        ),
        migrations.AddIndex(
            model_name="cart",
            index=models.Index(fields=["partner_key", "id"], name="carts_cart_partner_key_id"),
        ),
    ]
