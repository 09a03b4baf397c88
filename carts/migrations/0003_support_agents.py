from django.db import migrations

# By app and model. What a lead may do with accounts, `carts.admin.accounts` narrows further.
GROUPS = {
    "Cart support agent": {("carts", "cart"): ["view_cart", "change_cart"]},
    "Cart support lead": {("auth", "user"): ["view_user", "add_user", "change_user"]},
}


def grant(apps, schema_editor):
    """Create the group, and the permissions that Django would make after all migrations."""
    database = schema_editor.connection.alias
    types, groups, permissions = (
        apps.get_model(name).objects.using(database)
        for name in ("contenttypes.ContentType", "auth.Group", "auth.Permission")
    )
    for name, granted in GROUPS.items():
        group, _ = groups.get_or_create(name=name)
        for (app_label, model), codenames in granted.items():
            content_type, _ = types.get_or_create(app_label=app_label, model=model)
            for codename in codenames:
                permission, _ = permissions.get_or_create(
                    content_type=content_type,
                    codename=codename,
                    defaults={"name": f"Can {codename.replace('_', ' ')}"},
                )
                group.permissions.add(permission)


def revoke(apps, schema_editor):
    database = schema_editor.connection.alias
    groups = apps.get_model("auth", "Group").objects.using(database)
    groups.filter(name="Cart support agent").delete()
    permissions = apps.get_model("auth", "Permission").objects.using(database)
    of_accounts = permissions.filter(content_type__app_label="auth", content_type__model="user")
    for group in groups.filter(name="Cart support lead"):
        group.permissions.remove(*of_accounts)


class Migration(migrations.Migration):
    dependencies = [("carts", "0002_support_groups")]

    operations = [migrations.RunPython(grant, revoke)]
