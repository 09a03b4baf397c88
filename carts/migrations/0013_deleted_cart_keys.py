from django.db import migrations, models


class Migration(migrations.Migration):
    """List Changes tells whose a deleted cart was."""

    dependencies = [("carts", "0012_profile_status_index")]

    operations = [
        migrations.AddField("deletedcart", "partner_key", models.CharField(max_length=4, null=True)),
        migrations.AddField("deletedcart", "restaurant_key", models.IntegerField(null=True)),
    ]
