"""The service's settings, with a minute for what a test makes the database wait for."""

from cartsvc.db import time_limits

time_limits.LOCK_SECONDS = time_limits.STATEMENT_SECONDS = time_limits.REQUEST_SECONDS = 60

from cartsvc.settings import *  # noqa: E402, F403
