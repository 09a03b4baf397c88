import json
import shlex
from argparse import ArgumentParser
from io import StringIO

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from carts.openapi.example_cart import example_cart


class Command(BaseCommand):
    help = "Print how to create a first cart at a service that runs: a token and curl commands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="where the service runs, such as http://127.0.0.1:8000")

    def handle(self, *, url: str, **options: object) -> None:
        token = call_command(
            "issue_token",
            # All that the page of the API can try, which calls for the customer that it names.
            f"--scope=Cart.Read Cart.Write Cart.Close {settings.ANY_PROFILE_SCOPE}",
            "--lifetime=12h",
            stdout=StringIO(),
        )
        self.stdout.write(
            f"""\
# The token is good for 12 hours. Paste this into another terminal to create and list a cart:

PROFILE={example_cart()["keys"]["profileKey"]}
TOKEN={token}
CARTS={url}/v2.0/customers/$PROFILE/carts
curl -sw '\\n' $CARTS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d {shlex.quote(json.dumps(example_cart()["first_cart"]))}
curl -sw '\\n' $CARTS -H "Authorization: Bearer $TOKEN"
"""
        )
