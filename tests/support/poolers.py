"""PgBouncer with the very file that is shipped, in front of a PostgreSQL.

    python -m tests.support.poolers postgres://… COMMAND …

runs a command with DATABASE_URL at a pooler of its own and DATABASE_ADMIN_URL as given.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template

from cartsvc.db.database_url import database_at
from tests.support.programs import accepts, free_port, program, wait_until

SHIPPED = Path(__file__).resolve().parents[2] / "cartsvc/operations/pgbouncer.ini"


@contextmanager
def pooled(url: str) -> Iterator[dict[str, str]]:
    """Run a pooler for the database at `url`, which asks for no password.

    Yields the variables of a service that goes through it.
    """
    database = database_at(url)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="cartsvc-") as folder:
        Path(folder).chmod(0o755)
        users, configuration = Path(folder, "users"), Path(folder, "pgbouncer.ini")
        users.write_text(f'"{database["USER"]}" ""\n')
        configuration.write_text(
            Template(SHIPPED.read_text()).substitute(
                DATABASE_HOST=database["HOST"],
                DATABASE_PORT=database["PORT"] or 5432,
                LISTEN_HOST="127.0.0.1",
                LISTEN_PORT=port,
                AUTH_TYPE="trust",
                AUTH_FILE=users,
            )
        )
        # PgBouncer refuses to run as root.
        user = "postgres" if os.geteuid() == 0 else None
        with Path(folder, "log").open("w") as log:
            process = subprocess.Popen(
                [program("pgbouncer"), configuration],
                user=user,
                group=user,
                extra_groups=[] if user else None,
                cwd="/",
                stderr=log,
            )
        try:
            wait_until(lambda: accepts(port))
            yield {
                "DATABASE_URL": f"postgres://{database['USER']}@127.0.0.1:{port}"
                f"/{database['NAME']}",
                "DATABASE_ADMIN_URL": url,
            }
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    with pooled(sys.argv[1]) as variables:
        sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, **variables}).returncode)
