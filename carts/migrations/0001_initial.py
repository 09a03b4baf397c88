import cartsvc.db.column_check
import cartsvc.db.exact_field
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
import uuid_utils.compat
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('admin', '0003_logentry_add_action_flag_choices'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='FirstPassword',
            fields=[
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('pk', models.CompositePrimaryKey('profile_key', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('profile_key', models.UUIDField()),
                ('key', models.CharField(max_length=260)),
                ('digest', models.BinaryField(max_length=32)),
                ('data', models.TextField(null=True)),
                ('version', models.PositiveBigIntegerField(null=True)),
                ('is_change', models.BooleanField(default=True)),
                ('shows_cart', models.BooleanField(default=False)),
                ('created_on', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='MovedCart',
            fields=[
                ('author_kind', models.CharField(max_length=6)),
                ('author_name', models.CharField(max_length=80)),
                ('request_id', models.CharField(max_length=64, null=True)),
                ('pk', models.CompositePrimaryKey('cart_id', 'profile_key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('cart_id', models.UUIDField()),
                ('profile_key', models.UUIDField(db_index=True)),
                ('moved_on', models.DateTimeField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='StaffEntry',
            fields=[
                ('log_entry', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='staff_entry', serialize=False, to='admin.logentry')),
                ('cart_id', models.UUIDField(db_index=True)),
                ('profile_key', models.UUIDField(db_index=True)),
                ('version', models.PositiveBigIntegerField(null=True)),
                ('request_id', models.CharField(max_length=64, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Cart',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('profile_key', models.UUIDField(editable=False)),
                ('partner_key', models.CharField(max_length=4)),
                ('restaurant_key', models.IntegerField()),
                ('platform', models.CharField(max_length=50)),
                ('ordering_channel', models.CharField(max_length=50)),
                ('fulfilment_channel', models.CharField(max_length=50)),
                ('currency', models.CharField(max_length=3)),
                ('note', models.CharField(blank=True, max_length=300, null=True)),
                ('special_instructions', models.CharField(blank=True, max_length=300, null=True)),
                ('version', models.PositiveBigIntegerField(default=1, editable=False)),
                ('item_count', models.PositiveIntegerField(editable=False)),
                ('option_count', models.PositiveIntegerField(editable=False)),
                ('subtotal', cartsvc.db.exact_field.ExactField(editable=False)),
                ('modified_on', models.DateTimeField(editable=False)),
                ('stored_status', models.CharField(db_column='status', db_default='open', default='open', editable=False, max_length=9)),
                ('closed_on', models.DateTimeField(editable=False, null=True)),
                ('closed_until', models.DateTimeField(editable=False, null=True)),
                ('reference', models.CharField(blank=True, max_length=255, null=True)),
                ('order_reference', models.CharField(blank=True, max_length=255, null=True)),
                ('created_on', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('created_by_kind', models.CharField(editable=False, max_length=6)),
                ('created_by_name', models.CharField(editable=False, max_length=80)),
                ('created_request_id', models.CharField(editable=False, max_length=64, null=True)),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'objects',
                'indexes': [models.Index(fields=['profile_key', 'id'], name='carts_cart_profile_key_id'), models.Index(fields=['restaurant_key', 'id'], name='carts_cart_restaurant_key_id'), models.Index(fields=['partner_key', 'id'], name='carts_cart_partner_key_id'), models.Index(condition=models.Q(('reference__isnull', False)), fields=['reference', 'id'], name='carts_cart_reference_id'), models.Index(condition=models.Q(('order_reference__isnull', False)), fields=['order_reference', 'id'], name='carts_cart_order_reference_id'), models.Index(condition=models.Q(('closed_on__isnull', False)), fields=['profile_key', 'stored_status', 'id'], name='carts_cart_profile_status_id')],
            },
        ),
        migrations.CreateModel(
            name='CartItem',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('profile_key', models.UUIDField(editable=False)),
                ('position', models.PositiveIntegerField(editable=False)),
                ('menu_key', models.CharField(max_length=20)),
                ('menu_version', models.IntegerField()),
                ('menu_item_key', models.BigIntegerField()),
                ('display_name', models.CharField(max_length=100)),
                ('currency', models.CharField(max_length=3)),
                ('price', models.DecimalField(decimal_places=4, max_digits=14)),
                ('quantity', models.IntegerField()),
                ('special_instructions', models.CharField(blank=True, max_length=300, null=True)),
                ('value', cartsvc.db.exact_field.ExactField(editable=False)),
                ('cart', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='carts.cart')),
            ],
            options={
                'ordering': ['position'],
                'abstract': False,
                'base_manager_name': 'objects',
            },
        ),
        migrations.CreateModel(
            name='CartItemOption',
            fields=[
                ('pk', models.CompositePrimaryKey('item_id', 'position', blank=True, editable=False, primary_key=True, serialize=False)),
                ('profile_key', models.UUIDField(editable=False)),
                ('position', models.PositiveIntegerField(editable=False)),
                ('option_set_key', models.BigIntegerField()),
                ('option_set_item_key', models.BigIntegerField()),
                ('display_name', models.CharField(max_length=100)),
                ('currency', models.CharField(max_length=3)),
                ('price', models.DecimalField(decimal_places=4, max_digits=14)),
                ('item', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='options', to='carts.cartitem')),
            ],
            options={
                'ordering': ['position'],
                'abstract': False,
                'base_manager_name': 'objects',
            },
        ),
        migrations.CreateModel(
            name='DeletedCart',
            fields=[
                ('author_kind', models.CharField(max_length=6)),
                ('author_name', models.CharField(max_length=80)),
                ('request_id', models.CharField(max_length=64, null=True)),
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('profile_key', models.UUIDField(db_index=True)),
                ('partner_key', models.CharField(max_length=4)),
                ('restaurant_key', models.IntegerField()),
                ('deleted_on', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['deleted_on'], name='carts_deletedcart_deleted_on')],
            },
        ),
        migrations.CreateModel(
            name='CartChange',
            fields=[
                ('author_kind', models.CharField(max_length=6)),
                ('author_name', models.CharField(max_length=80)),
                ('request_id', models.CharField(max_length=64, null=True)),
                ('pk', models.CompositePrimaryKey('cart_id', 'version', blank=True, editable=False, primary_key=True, serialize=False)),
                ('profile_key', models.UUIDField()),
                ('version', models.PositiveBigIntegerField()),
                ('at', models.DateTimeField()),
                ('why', models.CharField(max_length=200, null=True)),
                ('operation', models.CharField(max_length=20)),
                ('item_id', models.UUIDField(null=True)),
                ('item_name', models.CharField(max_length=100, null=True)),
                ('before', models.TextField()),
                ('after', models.TextField()),
                ('subtotal_before', cartsvc.db.exact_field.ExactField()),
                ('subtotal_after', cartsvc.db.exact_field.ExactField()),
                ('cart', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='carts.cart')),
            ],
            options={
                'ordering': ['version'],
                'abstract': False,
                'base_manager_name': 'objects',
                'indexes': [models.Index(fields=['at'], name='carts_cartchange_at')],
            },
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('partner_key')), 4), models.Q(('partner_key__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('partner_key__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='partner_key', name='carts_cart_partner_key_line'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('restaurant_key__gte', -2147483648), ('restaurant_key__lte', 2147483647)), field='restaurant_key', name='carts_cart_restaurant_key_range'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('platform')), 50), models.Q(('platform__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('platform__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='platform', name='carts_cart_platform_line'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('ordering_channel')), 50), models.Q(('ordering_channel__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('ordering_channel__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='ordering_channel', name='carts_cart_ordering_channel_line'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('fulfilment_channel')), 50), models.Q(('fulfilment_channel__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('fulfilment_channel__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='fulfilment_channel', name='carts_cart_fulfilment_channel_line'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('currency__regex', '^[A-Z]{3}\\Z')), field='currency', name='carts_cart_currency_code'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('note__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('note')), 300), models.Q(('note__regex', '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]'), _negated=True)), _connector='OR'), field='note', name='carts_cart_note_paragraph'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('special_instructions__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('special_instructions')), 300), models.Q(('special_instructions__regex', '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]'), _negated=True)), _connector='OR'), field='special_instructions', name='carts_cart_special_instructions_paragraph'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('reference__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('reference')), 255), models.Q(('reference__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('reference__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), _connector='OR'), field='reference', name='carts_cart_reference_line'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('order_reference__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('order_reference')), 255), models.Q(('order_reference__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('order_reference__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), _connector='OR'), field='order_reference', name='carts_cart_order_reference_line'),
        ),
        migrations.AddConstraint(
            model_name='cart',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('stored_status__in', ('open', 'checkout', 'ordered', 'abandoned'))), field='stored_status', name='carts_cart_status'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=models.UniqueConstraint(fields=('cart', 'position'), name='carts_cartitem_cart_position'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('menu_key')), 20), models.Q(('menu_key__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('menu_key__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='menu_key', name='carts_cartitem_menu_key_line'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('menu_version__gte', -2147483648), ('menu_version__lte', 2147483647)), field='menu_version', name='carts_cartitem_menu_version_range'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('display_name')), 100), models.Q(('display_name__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('display_name__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='display_name', name='carts_cartitem_display_name_line'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('currency__regex', '^[A-Z]{3}\\Z')), field='currency', name='carts_cartitem_currency_code'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('price__gte', Decimal('0')), ('price__lte', Decimal('9999999999.9999'))), field='price', name='carts_cartitem_price_range'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('quantity__gte', 1), ('quantity__lte', 9999)), field='quantity', name='carts_cartitem_quantity_range'),
        ),
        migrations.AddConstraint(
            model_name='cartitem',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('special_instructions__isnull', True), models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('special_instructions')), 300), models.Q(('special_instructions__regex', '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]'), _negated=True)), _connector='OR'), field='special_instructions', name='carts_cartitem_special_instructions_paragraph'),
        ),
        migrations.AddConstraint(
            model_name='cartitemoption',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length(models.F('display_name')), 100), models.Q(('display_name__regex', '[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]'), _negated=True), ('display_name__regex', '[^ \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]')), field='display_name', name='carts_cartitemoption_display_name_line'),
        ),
        migrations.AddConstraint(
            model_name='cartitemoption',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('currency__regex', '^[A-Z]{3}\\Z')), field='currency', name='carts_cartitemoption_currency_code'),
        ),
        migrations.AddConstraint(
            model_name='cartitemoption',
            constraint=cartsvc.db.column_check.ColumnCheck(condition=models.Q(('price__gte', Decimal('0')), ('price__lte', Decimal('9999999999.9999'))), field='price', name='carts_cartitemoption_price_range'),
        ),
    ]
