"""PgBouncer with the very file that is shipped, in front of a PostgreSQL.

    python -m tests.support.poolers postgres://… COMMAND …

runs a command with DATABASE_URL at a pooler of its own and DATABASE_ADMIN_URL as given.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

from cartsvc.db.database_url import database_at
from tests.support.programs import AS_POSTGRES, ROOT, accepts, free_port, program, wait_until

SHIPPED = ROOT / "cartsvc/deploy/pgbouncer.ini"


@dataclass
class Pooler:
    """A running pooler: its socket's folder and port, and the variables of a service behind it."""

    folder: str
    port: int
    variables: dict[str, str]

    def start(self) -> None:
        with Path(self.folder, "log").open("a") as log:
            self.process = subprocess.Popen(
                [program("pgbouncer"), Path(self.folder, "pgbouncer.ini")],
                cwd="/",
                stderr=log,
                **AS_POSTGRES,
            )
        try:
            wait_until(lambda: accepts(self.port))
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def pooled(url: str) -> Iterator[Pooler]:
    """Run a pooler for the database at `url`. It asks for no password itself."""
    database = database_at(url)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="cartsvc-") as folder:
        Path(folder).chmod(0o755)
        users, configuration = Path(folder, "users"), Path(folder, "pgbouncer.ini")
        users.write_text(f'"{database["USER"]}" "{database["PASSWORD"]}"\n')
        configuration.write_text(
            Template(SHIPPED.read_text()).substitute(
                DATABASE_HOST=database["HOST"],
                DATABASE_PORT=database["PORT"] or 5432,
                LISTEN_HOST="127.0.0.1",
                LISTEN_PORT=port,
                SOCKET_DIR=folder,
                AUTH_TYPE="trust",
                AUTH_FILE=users,
            )
        )
        if AS_POSTGRES:
            shutil.chown(folder, AS_POSTGRES["user"])
        address = f"postgres://{database['USER']}@127.0.0.1:{port}/{database['NAME']}"
        variables = {"DATABASE_URL": address, "DATABASE_ADMIN_URL": url}
        pooler = Pooler(folder, port, variables)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()


if __name__ == "__main__":
    with pooled(sys.argv[1]) as pooler:
        sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, **pooler.variables}).returncode)
