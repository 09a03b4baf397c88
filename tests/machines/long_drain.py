"""The service's settings, with ten minutes for what a test does during a drain."""

from cartsvc.settings import *  # noqa: F403

DRAIN_SECONDS = 600
