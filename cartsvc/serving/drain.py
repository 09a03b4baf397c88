"""The drain: for some seconds after SIGTERM, an instance still serves and asks callers to leave."""

import mmap
import os
import signal
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.conf import settings

# In the WSGI environ of a request that arrives during the drain.
DRAINING = "cartsvc.draining"
# In that of a request after which the connection is closed. The server also closes one whose body
# was not read, and does not say so.
CLOSES_CONNECTION = "cartsvc.closes_connection"


class Drainable:
    """A WSGI application. It is made before the workers are forked: they share its byte."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application
        self.begun = mmap.mmap(-1, 1)
        self.parent = os.getpid()
        # The server will set its own handler.
        self.under_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN

    def begin_at_signals(self) -> None:
        """Let SIGTERM and SIGHUP begin the drain. SIGINT, a second signal or its end stops all."""
        stop = signal.getsignal(signal.SIGTERM)
        assert callable(stop)  # noqa: S101 (the server's)

        def drain_or_stop(number: int, frame: FrameType | None) -> None:
            if os.getpid() != self.parent:  # a worker that has only just been forked
                os._exit(0)
            at_once = self.begun[0] or number == signal.SIGINT or not settings.DRAIN_SECONDS
            self.begun[0] = 1
            if at_once:
                stop(number, frame)
            else:
                signal.setitimer(signal.ITIMER_REAL, settings.DRAIN_SECONDS)

        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, drain_or_stop)
        if self.under_nohup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self.begun[0]:
            environ[DRAINING] = environ[CLOSES_CONNECTION] = True

        def start(
            status: str, headers: list[tuple[str, str]], *exc_info: Any
        ) -> Callable[[bytes], object]:
            close = [("Connection", "close")] if CLOSES_CONNECTION in environ else []
            return start_response(status, [*headers, *close], *exc_info)

        return self.application(environ, start)
