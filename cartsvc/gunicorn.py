"""The production server's configuration: gunicorn -c cartsvc/gunicorn.py cartsvc.wsgi"""

import gc
import os

from environs import Env

env = Env()

wsgi_app = "cartsvc.wsgi"
bind = env.list("BIND", ["127.0.0.1:8000"])
workers = env.int("WEB_CONCURRENCY", max(2, os.cpu_count() or 1))
# A few threads a worker, so that one slow caller does not hold up the others.
worker_class = "gthread"
threads = env.int("THREADS", 4)
keepalive = 5
# How long a worker may be silent, and how long a stop waits for what runs; seconds.
timeout = 30
graceful_timeout = 30
# The application is loaded once and shared by the workers' memory.
preload_app = True
control_socket_disable = True
accesslog = None
errorlog = "-"


def when_ready(_server: object) -> None:
    # What is loaded by now stays for good: collections skip it, pages stay shared.
    gc.collect()
    gc.freeze()
