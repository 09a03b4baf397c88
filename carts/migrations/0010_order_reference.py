import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models

from cartsvc.db.migration_operations import AddCheck, LongerText


class Migration(migrations.Migration):
    """A reference may have 255 characters. What reads it goes before, and comes again in 0011."""

    dependencies = [("carts", "0009_is_change")]

    operations = [
        migrations.RemoveConstraint("cart", "carts_cart_reference_line"),
        migrations.RemoveIndex("cart", "carts_cart_reference_id"),
        LongerText(
            "cart", "reference", models.CharField(blank=True, max_length=255, null=True)
        ),
        migrations.AddField(
            "cart", "order_reference", models.CharField(blank=True, max_length=255, null=True)
        ),
        AddCheck(
            model_name='cart',
            constraint=models.CheckConstraint(condition=models.Q(('reference__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('reference')), 255), models.Q(('reference__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('reference__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), _connector='OR'), name='carts_cart_reference_line'),
        ),
        AddCheck(
            model_name='cart',
            constraint=models.CheckConstraint(condition=models.Q(('order_reference__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('order_reference')), 255), models.Q(('order_reference__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('order_reference__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), _connector='OR'), name='carts_cart_order_reference_line'),
        ),
    ]
