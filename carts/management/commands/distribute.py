from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from carts.models import Cart, FirstPassword, StaffEntry
from cartsvc.db.postgresql.base import HAS_CITUS
from cartsvc.db.time_limits import LOCK_SECONDS

# The other rows lie on the server of their cart. A table comes after those that it refers to. The
# staff log and the accounts stay with Django's, on the coordinator.
MODELS = apps.get_app_config("carts").get_models()
STAYING = {FirstPassword, StaffEntry}
OTHERS = [model._meta.db_table for model in MODELS if model not in {Cart, *STAYING}]
TABLES = [Cart._meta.db_table, *OTHERS]


class Command(BaseCommand):
    help = (
        "Spread the carts over the servers of a Citus cluster by customer. Run it once, on the "
        "coordinator, while the service is stopped: the carts are copied in one transaction."
    )

    def handle(self, **options: object) -> None:
        if connection.vendor != "postgresql" or not execute_sql(HAS_CITUS)[0][0]:
            raise CommandError("There is no Citus: CREATE EXTENSION citus, on each server.")
        if not connection.is_distributed:  # type: ignore[attr-defined] # a backend of cartsvc.db
            with transaction.atomic():
                distribute()
            for table in reversed(TABLES):
                execute_sql("SELECT truncate_local_data_after_distributing_table(%s)", table)
        # Citus hands this on to the workers, but nothing that a session sets.
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        execute_sql(f"ALTER DATABASE {name} SET lock_timeout = '{LOCK_SECONDS}s'")
        self.stdout.write("The carts are distributed.")


# Foreign keys come first.
CONSTRAINTS = """
    SELECT conrelid::regclass::text, quote_ident(conname), contype, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE contype IN ('f', 'p', 'u') AND conrelid = ANY(%s::regclass[])
    ORDER BY contype"""


def execute_sql(sql: str, *parameters: str | list[str]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or None)
        return cursor.fetchall() if cursor.description else []


def distribute() -> None:
    """Give every key the customer's, by which the rows are spread, and spread the tables."""
    # In parallel, a step would not see what an earlier one of the transaction has done.
    execute_sql("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    constraints = execute_sql(CONSTRAINTS, TABLES)
    for table, name, _, _ in constraints:
        execute_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    references = []
    for table, name, kind, definition in constraints:
        keys = definition.removesuffix(" DEFERRABLE INITIALLY DEFERRED")
        if "profile_key" not in keys:
            keys = keys.replace(")", ", profile_key)")
        sql = f"ALTER TABLE {table} ADD CONSTRAINT {name} {keys}"
        if kind == "f":
            references.append(sql if "CASCADE" in keys else f"{sql} ON DELETE CASCADE")
        else:
            execute_sql(sql)
    execute_sql("SELECT create_distributed_table(%s, 'profile_key')", TABLES[0])
    for table in OTHERS:
        sql = "SELECT create_distributed_table(%s, 'profile_key', colocate_with => %s)"
        execute_sql(sql, table, TABLES[0])
    for sql in references:
        execute_sql(sql)
    # `/readyz` reads it on every server. The desk's tables stay on the coordinator.
    execute_sql("SELECT create_reference_table('django_migrations')")
