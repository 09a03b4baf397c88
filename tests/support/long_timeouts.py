"""The service's settings, with a minute for what a test makes the database wait for."""

from cartsvc.db import database_url

database_url.LOCK_SECONDS = database_url.STATEMENT_SECONDS = database_url.REQUEST_SECONDS = 60

from cartsvc.settings import *  # noqa: E402, F403
