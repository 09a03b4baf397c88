"""The WSGI application. It refuses to start with an incomplete configuration."""

import codecs
import os
import sys
from importlib import import_module
from io import StringIO

from django.conf import settings
from django.core.cache import close_caches
from django.core.checks import Tags
from django.core.handlers.base import reset_urlconf
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries
from django.template.loader import get_template
from django.template.utils import get_app_template_dirs

from cartsvc.db.applied_migrations import newest_migrations
from cartsvc.db.database_url import connect_for_requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cartsvc.settings")

django_application = get_wsgi_application()

# These need the settings and the applications.
from drf_spectacular.settings import spectacular_settings  # noqa: E402

from cartsvc.api.middleware import SanitizedHeaders  # noqa: E402
from cartsvc.identity.bearer_tokens import token_backend  # noqa: E402

application = SanitizedHeaders(django_application)

connect_for_requests()
# No cache has to be closed, each request begins with its own URLs, connections are looked after at
# the end of a request, and no queries are listed: DEBUG stays off.
request_finished.disconnect(close_caches)
request_finished.disconnect(reset_urlconf)
request_started.disconnect(close_old_connections)
request_started.disconnect(reset_queries)

# The check runs here so that it holds for every server that loads this module.
try:
    call_command("check", "--tag", Tags.security, stdout=StringIO(), stderr=StringIO())
except SystemCheckError as error:
    sys.exit(str(error))

# What a request needs is loaded now: the folder may hold another release when it is asked for.
formats = f"{settings.FORMAT_MODULE_PATH}.en.formats"
for name in (settings.ROOT_URLCONF, settings.API_URLCONF, formats, "cartsvc.identity.sign_in"):
    import_module(name)
newest_migrations()
token_backend()  # its workers share the issuer's keys
codecs.lookup("unicode_escape")  # a file: Django logs the first 5xx with it
spectacular_settings.DEFAULT_GENERATOR_CLASS.json_text()
for folder in get_app_template_dirs("templates"):
    for file in folder.rglob("*.html"):
        get_template(str(file.relative_to(folder)))
