from django.db import migrations, models


class Migration(migrations.Migration):
    """What a key keeps of a request that changed nothing says so."""

    dependencies = [("carts", "0008_first_password")]

    operations = [
        migrations.AddField(
            "idempotencyrecord",
            "is_change",
            models.BooleanField(db_default=True, default=True),
        ),
    ]
