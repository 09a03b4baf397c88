from django.db import migrations

GROUPS = {
    "Cart support": ["view_cart"],
    "Cart support lead": ["view_cart", "change_cart", "delete_cart"],
}


def create_groups(apps, schema_editor):
    """Create the groups, and the permissions that Django would make after all migrations."""
    database = schema_editor.connection.alias
    content_type, _ = apps.get_model("contenttypes", "ContentType").objects.using(
        database
    ).get_or_create(app_label="carts", model="cart")
    for name, codenames in GROUPS.items():
        group, _ = apps.get_model("auth", "Group").objects.using(database).get_or_create(name=name)
        for codename in codenames:
            permission, _ = apps.get_model("auth", "Permission").objects.using(
                database
            ).get_or_create(
                content_type=content_type,
                codename=codename,
                defaults={"name": f"Can {codename.replace('_', ' ')}"},
            )
            group.permissions.add(permission)


def remove_groups(apps, schema_editor):
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    groups.filter(name__in=GROUPS).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("carts", "0001_carts"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(create_groups, remove_groups)]
