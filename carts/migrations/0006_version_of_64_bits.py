from django.db import migrations, models


class Migration(migrations.Migration):
    """A version that no number of changes exhausts. PostgreSQL rewrites the carts for it."""

    dependencies = [("carts", "0005_totals")]

    operations = [
        migrations.AlterField(
            "cart", "version", models.PositiveBigIntegerField(default=1, editable=False)
        ),
    ]
