from django.db import migrations


class Migration(migrations.Migration):
    """Django's own history is looked up by object, for which it has no index."""

    dependencies = [
        ("carts", "0003_search_by_restaurant_and_partner"),
        ("admin", "0003_logentry_add_action_flag_choices"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX carts_staff_log_object ON django_admin_log (object_id, content_type_id)",
            "DROP INDEX carts_staff_log_object",
        )
    ]
