"""What `manage.py` says when the database, Python or a package cannot be used."""

import ast
import uuid
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from cartsvc import __version__
from tests.service.test_configuration import PUBLIC as RIGHT
from tests.support.programs import ROOT, free_port, manage

COMMANDS = [
    ("migrate", "--attempts=1"),
    ("recount_carts",),
    ("export_customer", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("changepassword", "anna"),
    ("check", "--database", "default"),
]

# Python without a package, as if it had not been installed.
WITHOUT = (
    "import runpy, sys; sys.modules['{name}'] = None; "
    "runpy.run_path('manage.py', run_name='__main__')"
)


def refused(url: str, *command: str) -> str:
    """Run a command, which must fail without a traceback. Return what it says."""
    # The usual address may be taken by a service that runs.
    env = {**RIGHT, "DATABASE_URL": url, "BIND": f"127.0.0.1:{free_port()}"}
    done = manage(*command, **env)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_database_that_does_not_answer_is_told(command: tuple[str, ...]) -> None:
    told = refused(f"postgres://cartsvc:s3cret@127.0.0.1:{free_port()}/cartsvc", *command)
    assert told.count("The database cannot be used: ") == 1
    assert "Connection refused" in told
    assert "s3cret" not in told


@pytest.mark.parametrize("command", COMMANDS[1:3], ids=lambda command: command[0])
def test_a_database_without_tables_is_told(tmp_path: Path, command: tuple[str, ...]) -> None:
    told = refused(f"sqlite:///{tmp_path / 'empty.sqlite3'}", *command)
    assert "The database cannot be used: no such table" in told
    assert "manage.py migrate" in told


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no roles")
@pytest.mark.skipif(bool(settings.DATABASE_ADMIN_URL), reason="a pooler knows one role")
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("ALTER ROLE {0} SET default_transaction_read_only = on", "The database takes no changes"),
        ("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {0}", "Let the role own the tables"),
        ("ALTER ROLE {0} CONNECTION LIMIT 0", "All connections are taken"),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_nothing_is_told(sql: str, told: str) -> None:
    role, database = f"limited_{uuid.uuid4().hex}", connection.settings_dict
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role} LOGIN PASSWORD 's3cret'")
        try:
            cursor.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
            cursor.execute(sql.format(role))
            host, port = database["HOST"] or "127.0.0.1", database["PORT"] or 5432
            url = f"postgres://{role}:s3cret@{host}:{port}/{database['NAME']}"
            assert told in refused(url, "demo_carts")
        finally:
            cursor.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_mistake_in_the_shell_has_its_traceback(tmp_path: Path) -> None:
    """SQLite tells of a mistake as of an outage."""
    env = {**RIGHT, "DATABASE_URL": f"sqlite:///{tmp_path / 'migrated.sqlite3'}"}
    assert manage("migrate", "--verbosity=0", **env).returncode == 0
    for sql in ("SELEC 1", "SELECT nothing FROM carts_cart", "SELECT 1 FROM no"):
        code = f"from django.db import connection; connection.cursor().execute({sql!r})"
        done = manage("shell", "--no-imports", "-c", code, **env)
        assert "Traceback" in done.stderr
        assert "cannot be used" not in done.stderr


def said_by(*program: str, command: str = "serve") -> str:
    """Start manage.py where it cannot run. Return the one line that it says."""
    done = manage(command, program=program)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line


def test_an_old_python_says_which_it_must_be() -> None:
    old = "import runpy, sys; sys.version_info = (3, 10, 12, 'final', 0)"
    line = said_by("-c", f"{old}; runpy.run_path('manage.py', run_name='__main__')")
    assert line.startswith("The cart service needs Python 3.11 or newer, and this is Python 3.10: ")


def test_an_old_python_can_read_manage_py() -> None:
    ast.parse((ROOT / "manage.py").read_text(), feature_version=(3, 7))


@pytest.mark.parametrize(
    ("package", "program"),
    [
        ("django", ("-S", "manage.py")),
        # Of the settings, the models and the server.
        *(
            (name, ("-c", WITHOUT.format(name=name)))
            for name in ("environs", "uuid_utils", "granian")
        ),
    ],
)
def test_a_missing_package_is_named(package: str, program: tuple[str, ...]) -> None:
    line = said_by(*program)
    assert line.startswith(
        f"The package {package} is missing: run pip install -r cartsvc/requirements.txt"
    )


def test_a_missing_module_of_our_own_is_a_defect() -> None:
    done = manage("check", program=("-c", WITHOUT.format(name="carts.value_types")))
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("test", "The tests are pytest's: run pytest in this folder."),
        (
            "collectstatic",
            "There is nothing to collect: the service serves the files of its packages.",
        ),
    ],
)
def test_what_the_framework_would_do_is_not_needed(command: str, told: str) -> None:
    assert said_by("manage.py", command=command) == told


def test_ctrl_c_ends_a_command_without_a_traceback() -> None:
    done = manage("shell", "--no-imports", "-c", "raise KeyboardInterrupt")
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_the_version_is_that_of_the_service(asked: str) -> None:
    done = manage(asked)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


def test_a_file_in_a_missing_folder_is_told(tmp_path: Path) -> None:
    told = refused(f"sqlite:///{tmp_path / 'missing/carts.sqlite3'}", "serve")
    assert "Make the folder of the file in DATABASE_URL" in told


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, command: str) -> None:
    (tmp_path / "notes").write_text("Not a database. " * 1000)
    told = refused(f"sqlite:///{tmp_path / 'notes'}", command)
    assert "DATABASE_URL names a file that SQLite has not made" in told
    assert (tmp_path / "notes").read_text() == "Not a database. " * 1000


def test_a_file_that_cannot_be_read_or_written_is_told() -> None:
    assert "DATABASE_URL names no file of a disk" in refused("sqlite:////dev/null", "migrate")


def test_the_api_document_does_not_depend_on_the_locale(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    file = tmp_path / "openapi.yaml"
    done = manage("spectacular", "--file", str(file), **RIGHT, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2⁵³" in file.read_text("utf-8")
