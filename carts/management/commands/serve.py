import errno
import json
import os
import secrets
import shlex
import socket
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, DatabaseError, IntegrityError, connection

from carts.models import Cart
from cartsvc.db.deadlines import serve_requests
from cartsvc.db.outages import is_poolers
from cartsvc.identity.bearer_tokens import keep_issuer_keys
from cartsvc.serving import server
from cartsvc.serving.health import pending_migrations

FIRST_ACCOUNT = "admin"
DEMO_CARTS = 200


class Command(BaseCommand):
    # The other checks would import the views, and with them the metrics. That is too early:
    # the server has not yet set the folder in which its workers count.
    requires_system_checks = [Tags.security]
    help = (
        "Run the service. With nothing configured, it makes its own database and secrets under "
        "var/, and prints how to create a first cart."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--bind", default=settings.BIND, help="HOST:PORT or unix:/path (%(default)s)"
        )
        parser.add_argument(
            "--demo", action="store_true", help="fill the database with carts, if it has none"
        )

    @server.shared_counts()
    def handle(self, **options: Any) -> None:
        # Seconds for each name server. The next is then asked while a request still waits.
        os.environ.setdefault("RES_OPTIONS", "timeout:1 attempts:1")
        bind = options["bind"]
        _check_free(bind, "--bind ")
        if settings.METRICS_BIND:
            _check_free(settings.METRICS_BIND, "METRICS_BIND=")
        if settings.EMBEDDED:
            call_command("migrate", verbosity=0)
        if options["demo"]:
            self._fill()
        serve_requests()
        if not settings.EMBEDDED:
            self._look_at_database()
        # With nothing configured somebody reads this; else it would be in a log.
        if settings.JWT_KEY_GENERATED and not settings.IS_PUBLIC:
            self._make_first_account()
            if not bind.startswith("unix:"):  # behind a proxy, whose address is not known here
                self._welcome(bind)
        self.stdout.flush()
        server.run(bind, keep_issuer_keys)

    def _look_at_database(self) -> None:
        """Warn if it does not answer or is not migrated. Refuse it if its sessions are not right.

        A pooler may drop or refuse what the configuration asks for.
        """
        try:
            if pending := len(pending_migrations()):
                self.stderr.write(f"{pending} migrations are not applied: run manage.py migrate.")
            self.check(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS])
        except DatabaseError as error:
            if is_poolers(error):
                raise
            self.stderr.write(f"The database does not answer yet: {error}")
        finally:
            connection.close()

    def _fill(self) -> None:
        if Cart.objects.exists():
            self.stdout.write(
                "There are carts already, so --demo made none. To make some all the same, run:\n\n"
                f"manage.py demo_carts --carts {DEMO_CARTS}\n"
            )
        else:
            call_command("demo_carts", carts=DEMO_CARTS, stdout=self.stdout)

    def _make_first_account(self) -> None:
        """Create an account for the support desk if there is none, and print its password."""
        accounts = get_user_model().objects
        if accounts.exists():
            return
        password = secrets.token_urlsafe(12)
        try:
            accounts.create_superuser(FIRST_ACCOUNT, password=password)
        except IntegrityError:  # another `serve` has just made it, and prints its password
            return
        self.stdout.write(
            f"""\
The first account of the support desk is {FIRST_ACCOUNT}. Its password, shown only now:

PASSWORD={password}
"""
        )
        if not Cart.objects.exists():
            self.stdout.write("The desk has no carts yet. Start with --demo to try it with some.\n")

    def _welcome(self, bind: str) -> None:
        # Here, because it loads the metrics: these come after `shared_counts`.
        from carts.openapi.examples import samples  # noqa: PLC0415

        # All interfaces are no address to call.
        url = f"http://{bind}".replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        profile = samples()["keys"]["profileKey"]
        token = call_command(
            "issue_token", f"--profile={profile}", "--lifetime=12h", stdout=StringIO()
        )
        self.stdout.write(
            f"""\
The cart service runs at {url}  (stop it with Ctrl-C)
  Support desk: {url}/admin/  (more accounts: manage.py createsuperuser)
  A page to try the API: {url}/docs  (Authorize there with the TOKEN below)

The token is good for 12 hours. Paste this into another terminal to create a first cart:

PROFILE={profile}
TOKEN={token}
CARTS={url}/v2.0/customers/$PROFILE/carts
curl -s $CARTS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d {shlex.quote(json.dumps(samples()["first_cart"]))}

Then see it:

curl -s $CARTS -H "Authorization: Bearer $TOKEN"
"""
        )


def _check_free(bind: str, option: str) -> None:
    """Refuse an address that is taken. `option` is what sets it.

    The server would not notice: its workers share their port, even with another program.
    """
    try:
        address = server.address_of(bind)
        if path := address.get("uds"):
            _check_free_file(path)
            return
        family = socket.AF_INET6 if ":" in address["address"] else socket.AF_INET
        with closing(socket.socket(family)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address["address"], address["port"]))
    except (OSError, OverflowError, ValueError) as error:
        raise CommandError(
            f"{bind} cannot be used ({error}). Choose another address with {option}HOST:PORT."
        ) from error


def _check_free_file(path: Path) -> None:
    """Refuse a path that is taken, but remove the socket that a killed server has left."""
    with closing(socket.socket(socket.AF_UNIX)) as probe:
        if path.is_socket() and probe.connect_ex(str(path)) == errno.ECONNREFUSED:
            path.unlink()
    if path.exists():
        raise FileExistsError("it is taken")
