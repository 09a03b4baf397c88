import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection

from cartsvc.db.applied_migrations import is_migrated
from cartsvc.db.database_url import connect_for_requests
from cartsvc.identity.bearer_tokens import fetch_issuer_keys
from cartsvc.serving import metrics, server
from cartsvc.serving.addresses import free_address


class Command(BaseCommand):
    requires_system_checks = [Tags.security]
    help = (
        "Run the service. With nothing configured, it makes its own database and secrets under "
        "var/, and prints how to create a first cart."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--bind",
            metavar="HOST:PORT",
            default=settings.BIND,
            help="where it listens, or unix:/path (%(default)s)",
        )
        parser.add_argument(
            "--demo", action="store_true", help="fill the database with carts, if it has none"
        )

    def handle(self, *, bind: str, demo: bool, **_options: object) -> None:
        # Seconds for each name server. The next is then asked while a request still waits.
        os.environ.setdefault("RES_OPTIONS", "timeout:1 attempts:1")
        with _naming(bind, "BIND= or --bind "):
            address = free_address(bind)
        settings.BIND = bind  # the instance's name has its end
        if settings.METRICS_BIND:
            with _naming(settings.METRICS_BIND, "METRICS_BIND="):
                metrics.listen(settings.METRICS_BIND)
        if settings.EMBEDDED:
            call_command("migrate", verbosity=0)
        if demo:
            call_command("demo_carts", stdout=self.stdout)
        connect_for_requests()
        if not settings.EMBEDDED:
            self._look_at_database()
        # With nothing configured somebody reads this; else it would be in a log.
        if settings.JWT_KEY_GENERATED and not settings.IS_PUBLIC:
            self._make_first_account()
            if not bind.startswith("unix:"):  # behind a proxy, whose address is not known here
                self._welcome(bind)
        self.stdout.flush()
        connection.close()
        try:
            server.serve(address, fetch_issuer_keys)
        finally:
            # Move what is in SQLite's -wal file to the database: the workers close no connection.
            if connection.vendor == "sqlite":
                with suppress(DatabaseError):
                    connection.ensure_connection()
                connection.close()

    def _look_at_database(self) -> None:
        """Warn if it does not answer or is not migrated. Refuse sessions that are not right."""
        try:
            self.check(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS])
            if not is_migrated():
                self.stderr.write("Some migrations are not applied: run manage.py migrate.")
        except DatabaseError as error:
            self.stderr.write(f"The database does not answer yet: {error}")

    def _make_first_account(self) -> None:
        accounts = get_user_model().objects
        if accounts.exists():
            return
        password = secrets.token_urlsafe(12)
        accounts.create_superuser("admin", password=password)
        self.stdout.write("# The first account of the support desk is admin. Its password, once:\n")
        self.stdout.write(f"PASSWORD={password}\n")

    def _welcome(self, bind: str) -> None:
        # All interfaces are no address to call.
        url = f"http://{bind}".replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        self.stdout.write(
            f"""\
# The cart service runs at {url}  (stop it with Ctrl-C)
#   Support desk: {url}/admin/  (more accounts: .venv/bin/python manage.py createsuperuser)
#   A page to try the API: {url}/docs  (Authorize there with the TOKEN below)

"""
        )
        call_command("first_cart", url, stdout=self.stdout)


@contextmanager
def _naming(bind: str, option: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{bind} cannot be used ({error}). Choose another address with {option}HOST:PORT."
        ) from error
