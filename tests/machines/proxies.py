"""The real nginx with the very file that is shipped."""

import os
import re
import signal
import ssl
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template
from typing import Any

from tests.machines.servers import SIGNING_KEY, Service, connected
from tests.support.callers import HttpApi
from tests.support.certificates import make_certificate
from tests.support.programs import (
    ROOT,
    accepts,
    children,
    free_port,
    printed,
    program,
    running,
    wait_until,
)

HOST = "localhost"
PAGE = (ROOT / "cartsvc/README.md").read_text()

# What the page changes in Debian's file.
DEBIAN = """
worker_processes auto;
events {
    worker_connections 768;
}
"""
MAIN = """
daemon off;
pid $folder/pid;
error_log $folder/error.log;
$user
$debian
http {
    access_log off;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    include $folder/cartsvc.conf;
}
"""


class Proxy:
    process: subprocess.Popen[bytes]

    def __init__(self, folder: Path, server: Service, *others: Service) -> None:
        self.port, self.plain_port = free_port(), free_port()
        self.server, self.folder = server, folder
        self.logs = [folder / "access.log", folder / "error.log"]
        self.url = f"https://{HOST}:{self.port}"
        self.certificate = str(folder / "certificate.pem")
        make_certificate(folder, HOST)
        shipped = Template((ROOT / "cartsvc/deploy/nginx.conf").read_text())
        filled = shipped.safe_substitute(
            SERVER_NAME=HOST,
            CERTIFICATE=self.certificate,
            CERTIFICATE_KEY=folder / "key.pem",
            SERVERS=" ".join(f"server {each.bind} fail_timeout=1s;" for each in (server, *others)),
        )
        for shipped_port, port in ((443, self.port), (80, self.plain_port)):
            filled = filled.replace(f"listen {shipped_port}", f"listen 127.0.0.1:{port}")
            filled = filled.replace(f"listen [::]:{shipped_port}", f"listen [::1]:{port}")
        for log in self.logs:
            filled = filled.replace(f"/var/log/nginx/{log.name}", str(log))
        if limit := server.env.get("MAX_BODY_BYTES"):
            filled = filled.replace("client_max_body_size 256k;", f"client_max_body_size {limit};")
        (folder / "cartsvc.conf").write_text(filled)
        user = "user root;" if os.geteuid() == 0 else ""
        main = folder / "nginx.conf"
        [change] = re.findall(r"^sed -i '([^']*)' /etc/nginx/nginx.conf$", PAGE, re.MULTILINE)
        debian = printed("sed", change, input=DEBIAN)
        main.write_text(Template(MAIN).substitute(folder=folder, user=user, debian=debian))
        self.command = [program("nginx"), "-c", main, "-p", folder]

    def reload(self) -> None:
        """Have nginx read its files again, and wait until the old workers are gone."""
        wait_until(self.workers)  # it may just have started
        old = self.workers()
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: (workers := self.workers()) and not workers & old)

    def workers(self) -> set[int]:
        return set(children(self.process.pid))

    def caller(self, **claims: Any) -> HttpApi:
        caller = HttpApi(self.url, uuid.uuid4(), key=SIGNING_KEY, **claims)
        caller.verify = self.certificate
        return caller

    def raw(self, sent: bytes, **how: Any) -> ssl.SSLSocket:
        """Send on a connection that is made so: see `connected`."""
        connection = connected(self.port, self.certificate, **how)
        connection.sendall(sent)
        return connection


@contextmanager
def nginx(server: Service, *others: Service) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="cartsvc-") as folder:
        proxy = Proxy(Path(folder), server, *others)
        with running(proxy.command, lambda: accepts(proxy.port)) as proxy.process:
            yield proxy
