import pytest
from django.core.management import CommandError, call_command
from django.db import connection


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor == "postgresql", reason="machines/test_citus.py has Citus")
def test_a_database_without_citus_is_refused() -> None:
    with pytest.raises(CommandError, match="There is no Citus"):
        call_command("distribute")
