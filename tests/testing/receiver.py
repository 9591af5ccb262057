"""A receiver of webhooks on a real socket: it checks signatures, and can refuse, fail, hang, or be down."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.testing.servers import free_port

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@dataclass
class Received:
    """A request: its key, its body, and whether its signature was right."""

    key: str
    body: dict[str, Any]
    is_signed: bool


@dataclass
class Receiver:
    """What the server does next, and what it got."""

    port: int = field(default_factory=free_port)
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    hangs_s: float = 0.0  # before it answers
    drips: bool = False  # a byte of the answer each tenth of a second, for ever
    received: list[Received] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?token=very-secret-token"

    @property
    def keys(self) -> list[str]:
        return [one.key for one in self.received]

    @property
    def types(self) -> list[str]:
        return [one.body["type"] for one in self.received]


def is_signed(headers: Any, content: bytes) -> bool:
    """Check a signature as a receiver would that knows nothing of this project."""
    key, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    signed = f"{key}.{timestamp}.".encode() + content
    mac = hmac.new(base64.b64decode(SECRET.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    is_recent = abs(time.time() - int(timestamp)) < 300
    return is_recent and hmac.compare_digest(headers["webhook-signature"], f"v1,{base64.b64encode(mac).decode()}")


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            key = self.headers["webhook-id"]
            receiver.received.append(Received(key, json.loads(content), is_signed(self.headers, content)))
            receiver.ended.wait(receiver.hangs_s)
            if receiver.drips:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
                while not receiver.ended.wait(0.1):
                    self.wfile.write(b"x")
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            """Log nothing."""

    return Handler


@contextmanager
def serving(receiver: Receiver) -> Iterator[Receiver]:
    """Let the receiver listen on its port."""
    server = ThreadingHTTPServer(("127.0.0.1", receiver.port), _handler(receiver))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
        receiver.ended.clear()
