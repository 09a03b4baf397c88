import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models

from cartsvc.db.operations import AddCheck


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("carts", "0001_carts")]

    operations = [
        migrations.AddField("cart", "closed_on", models.DateTimeField(editable=False, null=True)),
        migrations.AddField(
            "cart", "closed_until", models.DateTimeField(editable=False, null=True)
        ),
        migrations.AddField(
            "cart", "reference", models.CharField(blank=True, max_length=100, null=True)
        ),
        migrations.AddField(
            "cart",
            "status",
            models.CharField(db_default="open", default="open", editable=False, max_length=9),
        ),
        AddCheck(
            model_name='cart',
            constraint=models.CheckConstraint(condition=models.Q(('reference__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('reference')), 100), models.Q(('reference__regex', '[\\u0000-\\u001f\\u007f-\\u009f]'), _negated=True), ('reference__regex', '[^ \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]')), _connector='OR'), name='carts_cart_reference_line'),
        ),
        AddCheck(
            model_name='cart',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ('open', 'checkout', 'ordered', 'abandoned'))), name='carts_cart_status'),
        ),
    ]
