from typing import Any

from django.db import migrations, models

from cartsvc.db.migration_operations import AddIndex


class AddIndexToLog(AddIndex):
    """Adds an index to the table of Django's log, whose model is not ours and stays as it is."""

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        super().database_forwards("admin", schema_editor, *states)

    def database_backwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        log = states[0].apps.get_model("admin", self.model_name)
        schema_editor.remove_index(log, self.index)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("carts", "0003_validate_cart_closing"),
        ("admin", "0003_logentry_add_action_flag_choices"),
    ]

    operations = [
        AddIndexToLog("logentry", models.Index(fields=["object_id"], name="carts_log_object")),
    ]
