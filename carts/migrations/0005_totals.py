from django.db import migrations, models

import cartsvc.db.decimals


class Migration(migrations.Migration):
    """Columns for what a cart adds up to: `manage.py recount_carts` fills them.

    The code before it still runs, and no table is rewritten.
    """

    dependencies = [("carts", "0004_staff_log_by_object")]

    operations = [
        migrations.AddField(
            "cart", "item_count", models.PositiveIntegerField(editable=False, null=True)
        ),
        migrations.AddField(
            "cart", "option_count", models.PositiveIntegerField(editable=False, null=True)
        ),
        migrations.AddField(
            "cart", "subtotal", cartsvc.db.decimals.ExactField(editable=False, null=True)
        ),
        migrations.AddField(
            "cart", "creation", models.TextField(db_default="", default="", editable=False)
        ),
        migrations.AlterField("cart", "history", models.TextField(default="", editable=False)),
        migrations.AlterField(
            "idempotencyrecord", "key", models.CharField(max_length=260)
        ),
    ]
