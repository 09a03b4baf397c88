import os
import sys
from io import StringIO
from typing import Any

from django.core.checks import Tags
from django.core.handlers.wsgi import WSGIRequest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")


class Request(WSGIRequest):
    """A request whose Content-Type need not be readable.

    Django parses it before any middleware runs, so the error would be answered as HTML.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            super()._set_content_type_params(meta)  # type: ignore[misc]  # not in the stubs
        except ValueError:
            meta["CONTENT_TYPE"] = ""  # as good as none, which is 415
            super()._set_content_type_params(meta)  # type: ignore[misc]


application = get_wsgi_application()
application.request_class = Request

# Whichever server loads this module, a half-made configuration does not start.
try:
    call_command("check", "--tag", Tags.security, stdout=StringIO())
except SystemCheckError as error:
    sys.exit(str(error))
