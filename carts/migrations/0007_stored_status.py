from django.db import migrations, models


class Migration(migrations.Migration):
    """The field has a name that says what it holds. The column keeps its own, so nothing is sent."""

    dependencies = [("carts", "0006_staff_entry")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("cart", "carts_cart_status"),
                migrations.AlterField(
                    "cart",
                    "status",
                    models.CharField(
                        db_column="status",
                        db_default="open",
                        default="open",
                        editable=False,
                        max_length=9,
                    ),
                ),
                migrations.RenameField("cart", "status", "stored_status"),
                migrations.AddConstraint(
                    "cart",
                    models.CheckConstraint(
                        condition=models.Q(
                            ("stored_status__in", ("open", "checkout", "ordered", "abandoned"))
                        ),
                        name="carts_cart_status",
                    ),
                ),
            ]
        )
    ]
