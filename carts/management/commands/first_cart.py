import json
import shlex
from argparse import ArgumentParser
from io import StringIO

from django.core.management import call_command
from django.core.management.base import BaseCommand

from carts.openapi.example_cart import example_cart


class Command(BaseCommand):
    help = "Print how to create a first cart at a service that runs: a token and curl commands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="where the service runs, such as http://127.0.0.1:8000")

    def handle(self, *, url: str, **options: object) -> None:
        profile = example_cart()["keys"]["profileKey"]
        token = call_command(
            "issue_token",
            f"--profile={profile}",
            "--scope=Cart.Read Cart.Write Cart.Close",  # all that the page of the API can try
            "--lifetime=12h",
            stdout=StringIO(),
        )
        self.stdout.write(
            f"""\
The token is good for 12 hours. Paste this into another terminal to create a first cart:

PROFILE={profile}
TOKEN={token}
CARTS={url}/v2.0/customers/$PROFILE/carts
curl -s $CARTS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d {shlex.quote(json.dumps(example_cart()["first_cart"]))}

Then see it:

curl -s $CARTS -H "Authorization: Bearer $TOKEN"
"""
        )
