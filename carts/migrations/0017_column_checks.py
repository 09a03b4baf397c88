from django.db import migrations

from cartsvc.db.migration_operations import MoveChecksToColumns


class Migration(migrations.Migration):
    """The checks get cheaper on PostgreSQL. The partial indexes of their columns come again in 0018."""

    dependencies = [("carts", "0016_staff_entry_request")]

    operations = [
        migrations.RemoveIndex("cart", "carts_cart_reference_id"),
        migrations.RemoveIndex("cart", "carts_cart_order_reference_id"),
        migrations.RemoveIndex("cart", "carts_cart_profile_status_id"),
        MoveChecksToColumns(
            "cart",
            {
                "carts_cart_partner_key_line": "partner_key",
                "carts_cart_restaurant_key_range": "restaurant_key",
                "carts_cart_platform_line": "platform",
                "carts_cart_ordering_channel_line": "ordering_channel",
                "carts_cart_fulfilment_channel_line": "fulfilment_channel",
                "carts_cart_currency_code": "currency",
                "carts_cart_note_paragraph": "note",
                "carts_cart_special_instructions_paragraph": "special_instructions",
                "carts_cart_reference_line": "reference",
                "carts_cart_order_reference_line": "order_reference",
                "carts_cart_status": "stored_status",
            },
        ),
        MoveChecksToColumns(
            "cartitem",
            {
                "carts_cartitem_menu_key_line": "menu_key",
                "carts_cartitem_menu_version_range": "menu_version",
                "carts_cartitem_display_name_line": "display_name",
                "carts_cartitem_currency_code": "currency",
                "carts_cartitem_price_range": "price",
                "carts_cartitem_quantity_range": "quantity",
                "carts_cartitem_special_instructions_paragraph": "special_instructions",
            },
        ),
        MoveChecksToColumns(
            "cartitemoption",
            {
                "carts_cartitemoption_display_name_line": "display_name",
                "carts_cartitemoption_currency_code": "currency",
                "carts_cartitemoption_price_range": "price",
            },
        ),
    ]
