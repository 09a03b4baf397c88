"""The WSGI application. It refuses to start with an incomplete configuration."""

import os
import sys
from collections.abc import Iterable
from io import StringIO
from typing import Any

from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")

django_application = get_wsgi_application()

from cartsvc.api.authentication import fetch_issuer_keys  # noqa: E402 (needs the settings)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request.

    An unreadable Content-Type is removed here, so that the caller gets a 415 envelope. Django
    would read it before any middleware runs, and answer with HTML.
    """
    try:
        parse_header_parameters(environ.get("CONTENT_TYPE", ""))
    except ValueError:
        environ["CONTENT_TYPE"] = ""
    return django_application(environ, start_response)


# The check runs here so that it holds for every server that loads this module.
try:
    call_command("check", "--tag", Tags.security, stdout=StringIO())
except SystemCheckError as error:
    sys.exit(str(error))

# Otherwise one of the first requests would fetch the keys, and the others would be 503.
fetch_issuer_keys()
