"""The WSGI application; with a half-made configuration it does not start."""

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

    A Content-Type that cannot be read is as good as none, which is 415. Django reads it
    before any middleware runs, and answers with HTML.
    """
    try:
        parse_header_parameters(environ.get("CONTENT_TYPE", ""))
    except ValueError:
        environ["CONTENT_TYPE"] = ""
    return django_application(environ, start_response)


# Whichever server loads this module, a half-made configuration does not start.
try:
    call_command("check", "--tag", Tags.security, stdout=StringIO())
except SystemCheckError as error:
    sys.exit(str(error))

# Else all but one of the first requests would be 503 while that one asks the issuer.
fetch_issuer_keys()
