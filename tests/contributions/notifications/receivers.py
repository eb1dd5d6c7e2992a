"""Receivers of notifications: an HTTP server and an SMTP server on this machine, which keep what they get."""

from __future__ import annotations

import base64
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from tests.servers.processes import ADDRESS, program


@dataclass
class Request:
    """A request to a webhook."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Webhook:
    """A receiver. statuses: of the next answers; then 200. drips: send the heads of answers without end."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    drips: threading.Event | None = None

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}/hook/secret"

    @property
    def ids(self) -> list[str]:
        return [each.headers["losslake-delivery"] for each in self.requests]


def certificate(folder: Path, *names: str) -> Path:
    """Make a key and a certificate for some names, in one file."""
    openssl = program("openssl", "openssl")
    key, cert, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    alternatives = ",".join([*(f"DNS:{name}" for name in names), f"IP:{ADDRESS}"])
    command: list[str | Path] = [
        openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=receiver", "-addext", f"subjectAltName={alternatives}", "-keyout", key, "-out", cert,
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + cert.read_bytes())
    return both


def _tls(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@contextmanager
def receiving(webhook: Webhook, tls: Path | None = None) -> Iterator[Webhook]:
    """Have a webhook receive requests. tls: its certificate."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            named = {name.lower(): value for name, value in self.headers.items()}
            webhook.requests.append(Request(self.path, named, body))
            if webhook.drips is not None:
                with suppress(OSError):
                    while not webhook.drips.wait(0.05):
                        self.wfile.write(b"HTTP/1.1 200 OK\r\n" if not self.close_connection else b"a")
                        self.close_connection = True
                return
            self.send_response(webhook.statuses.pop(0) if webhook.statuses else 200)
            for name, value in webhook.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((ADDRESS, 0), Handler)
    if tls is not None:
        server.socket = _tls(tls).wrap_socket(server.socket, server_side=True)
    webhook.port = server.server_address[1]
    with _running(server):
        yield webhook


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Mailbox:
    """An SMTP server. tls: its certificate for STARTTLS. login: the user and password that it asks for.

    refuses: receivers that it doesn't take. raw: e-mails as they came. sessions: whether each e-mail came encrypted,
    and by which user.
    """

    tls: Path | None = None
    login: tuple[str, str] | None = None
    refuses: set[str] = field(default_factory=set)
    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    receivers: list[list[str]] = field(default_factory=list)
    sessions: list[tuple[bool, str]] = field(default_factory=list)
    greetings: list[str] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        security = "starttls" if self.tls is not None else "none"
        of_sender = {"email_from": "losslake@losslake.example", "smtp_security": security}
        return {"smtp_host": ADDRESS, "smtp_port": self.port, **of_sender}


class _Session(socketserver.StreamRequestHandler):
    """A session of SMTP (RFC 5321), as far as smtplib speaks it."""

    def handle(self) -> None:
        self.is_encrypted, self.user = False, ""
        self.receivers: list[str] = []
        self.say(220, "receiver")
        with suppress(OSError):
            while line := self.rfile.readline():
                verb, _, rest = line.decode("ascii").strip().partition(" ")
                if verb.upper() == "QUIT":
                    self.say(221, "bye")
                    return
                getattr(self, f"do_{verb.lower()}", self.unknown)(rest)

    @property
    def mailbox(self) -> Mailbox:
        return cast(Any, self.server).mailbox  # type: ignore[no-any-return]

    def say(self, code: int, *lines: str) -> None:
        for line in lines[:-1]:
            self.wfile.write(f"{code}-{line}\r\n".encode())
        self.wfile.write(f"{code} {lines[-1]}\r\n".encode())

    def unknown(self, _: str) -> None:
        self.say(502, "unknown")

    def do_ehlo(self, name: str) -> None:
        self.mailbox.greetings.append(name)
        offers = ["STARTTLS"] if self.mailbox.tls and not self.is_encrypted else []
        self.say(250, "receiver", *offers, *(["AUTH PLAIN"] if self.mailbox.login else []), "8BITMIME")

    def do_starttls(self, _: str) -> None:
        assert self.mailbox.tls is not None
        self.say(220, "go")
        self.connection = _tls(self.mailbox.tls).wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), cast(Any, self.connection.makefile("wb", 0))
        self.is_encrypted = True

    def do_auth(self, rest: str) -> None:
        _, user, password = base64.b64decode(rest.partition(" ")[2]).decode().split("\0")
        is_right = (user, password) == self.mailbox.login
        self.user = user if is_right else ""
        self.say(235 if is_right else 535, "done" if is_right else f"wrong password of {user}")

    def do_mail(self, _: str) -> None:
        self.receivers = []
        self.say(250, "ok")

    def do_rcpt(self, rest: str) -> None:
        address = rest.partition("<")[2].partition(">")[0]
        if address in self.mailbox.refuses:
            self.say(550, f"{address} is unknown")
            return
        self.receivers.append(address)
        self.say(250, "ok")

    def do_rset(self, _: str) -> None:
        self.say(250, "ok")

    def do_data(self, _: str) -> None:
        self.say(354, "go on")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        self.mailbox.raw.append(b"".join(lines))
        self.mailbox.messages.append(message_from_bytes(b"".join(lines), policy=default))
        self.mailbox.receivers.append(self.receivers)
        self.mailbox.sessions.append((self.is_encrypted, self.user))
        self.say(250, "kept")


@contextmanager
def mail_server(mailbox: Mailbox) -> Iterator[Mailbox]:
    """Have a mailbox receive e-mails."""
    server = socketserver.ThreadingTCPServer((ADDRESS, mailbox.port), _Session, bind_and_activate=False)
    server.allow_reuse_address = server.daemon_threads = True
    server.server_bind()
    server.server_activate()
    cast(Any, server).mailbox = mailbox
    mailbox.port = server.server_address[1]
    with _running(server):
        yield mailbox
