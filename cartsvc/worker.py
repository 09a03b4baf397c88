"""gunicorn's threaded worker, which takes a connection only when a thread is free for it.

As it comes, a worker that is awake takes all connections that wait. Callers who keep theirs
stay with it, and the other workers idle: in eight of 28 runs eight kept connections were all
in one of two workers, and had half of the throughput. A new connection behind busy threads
waits, too, while another worker has nothing to do.
"""

from gunicorn.workers.gthread import ThreadWorker


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    @property
    def worker_connections(self) -> int:
        """How many connections it may have: asked each time before it takes one."""
        waiting = len(self.keepalived_conns) + len(self.pending_conns)
        return min(self.limit, waiting + self.cfg.threads)

    @worker_connections.setter
    def worker_connections(self, limit: int) -> None:
        self.limit = limit
