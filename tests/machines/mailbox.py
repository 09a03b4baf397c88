"""A provider's mail server, and the page that expects the watchdog's calls: stand-ins for both.

    python3 mailbox.py FOLDER CERTIFICATE KEY MAIL_PORT WATCHDOG_PORT

Like a provider's, the mail server wants STARTTLS, and then a password. Each mail is a line of JSON
in the folder's `mails`, and each call one in its `calls`. It runs on Debian's Python alone.
"""

import base64
import json
import ssl
import sys
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any


def keep(file: Path, **what: object) -> None:
    with file.open("a") as kept:
        kept.write(json.dumps({"at": time.time(), **what}) + "\n")


class Mail(StreamRequestHandler):
    def __init__(self, file: Path, tls: ssl.SSLContext, *rest: Any) -> None:
        self.file, self.tls = file, tls
        super().__init__(*rest)

    def line(self) -> str:
        return self.rfile.readline().decode().rstrip("\r\n")

    def handle(self) -> None:
        encrypted = False
        login, to = "", []
        self.wfile.write(b"220 ready\r\n")
        while command := self.line():
            answer = "250 done"
            match command.split(" ")[0]:
                case "EHLO":
                    answer = "250-here\r\n250 " + ("AUTH PLAIN" if encrypted else "STARTTLS")
                case "STARTTLS":
                    self.wfile.write(b"220 go on\r\n")
                    self.request = self.tls.wrap_socket(self.request, server_side=True)
                    self.setup()
                    encrypted = True
                    continue
                case "AUTH" if encrypted:
                    login = base64.b64decode(command.split(" ")[2]).decode()
                    answer = "235 signed in"
                case "RCPT" if login:
                    to.append(command)
                case "DATA" if to:
                    self.wfile.write(b"354 go on\r\n")
                    text = "\n".join(iter(self.line, "."))
                    keep(self.file, login=login.split("\0")[1:], to=to, text=text)
                case "MAIL" if login:
                    pass
                case "QUIT":
                    answer = "221 bye"
                case _:
                    answer = "530 sign in first"
            self.wfile.write(f"{answer}\r\n".encode())


class Call(BaseHTTPRequestHandler):
    def __init__(self, file: Path, *rest: Any) -> None:
        self.file = file
        super().__init__(*rest)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        keep(self.file, path=self.path, status=json.loads(body)["status"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main(folder: str, certificate: str, key: str, mail_port: str, watchdog_port: str) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    mail = partial(Mail, Path(folder, "mails"), tls)
    call = partial(Call, Path(folder, "calls"))
    mails = ThreadingTCPServer(("127.0.0.1", int(mail_port)), mail)
    threading.Thread(target=mails.serve_forever, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", int(watchdog_port)), call).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
