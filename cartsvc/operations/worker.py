"""gunicorn's threaded worker, which leaves a connection to a worker that has a thread for it.

As it comes, a worker that is awake takes all connections that wait. Callers who keep theirs
stay with it, and the other workers idle: in eight of 28 runs eight kept connections were all
in one of two workers, and had half of the throughput. A new connection behind busy threads
waits, too, while another worker has nothing to do.
"""

import time
from select import select

from gunicorn.workers.gthread import ThreadWorker

# For so long a busy worker leaves a connection to the others, before it is as good as any.
PATIENCE_SECONDS = 0.02


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    waiting_since: float | None = None

    @property
    def worker_connections(self) -> int:
        """How many connections it may have: asked each time before it takes one."""
        waiting = len(self.keepalived_conns) + len(self.pending_conns)
        return min(self.limit, waiting + self.cfg.threads)

    @worker_connections.setter
    def worker_connections(self, limit: int) -> None:
        self.limit = limit

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait for something to do; busy, take also who waits though every worker could.

        Or else a few callers who never rest would keep all others out.
        """
        if self._accepting or not self.alive:
            self.waiting_since = None
            super().wait_for_and_dispatch_events(timeout)
            return
        super().wait_for_and_dispatch_events(min(timeout, PATIENCE_SECONDS))
        waiting, _, _ = select(self.sockets, [], [], 0)
        now = time.monotonic()
        if not waiting:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = now
        elif now - self.waiting_since > PATIENCE_SECONDS and self.nr_conns < self.limit:
            for listener in waiting:
                self.accept(listener)
