"""Messages to people by Apprise, on real sockets: a Slack-compatible server, and a mail server."""

import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from contract.api.notify.targets import SERVICES
from scheduler.notify.addresses import AllowedHosts
from scheduler.notify.outcome import FinalError, SendError
from scheduler.notify.people import MISSING, redact, send_to_people
from tests.testing.servers import free_port

HERE = AllowedHosts.of(["127.0.0.1"])
MAIL = "smtp=127.0.0.1&from=bigbatch@example.org&to=ada@example.org"
TOKEN = "a1b2c3d4e5f6g7h8i9j0k1l2m3"


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def chat_server(port: int, received: list[bytes], status: int = 200) -> HTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    return HTTPServer(("127.0.0.1", port), Handler)


def mail_server(port: int, received: list[str]) -> socketserver.TCPServer:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here ESMTP\r\n")
            while line := self.rfile.readline().decode():
                word = line[:4].upper()
                if word == "DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = []
                    while (text := self.rfile.readline().decode()) != ".\r\n":
                        lines.append(text)
                    received.append("".join(lines))
                self.wfile.write(b"221 bye\r\n" if word == "QUIT" else b"250 ok\r\n")
                if word == "QUIT":
                    return

    socketserver.ThreadingTCPServer.allow_reuse_address = True
    return socketserver.ThreadingTCPServer(("127.0.0.1", port), Handler)


@pytest.mark.ring("all")
def test_a_slack_compatible_server_gets_title_text_link_and_key() -> None:
    port, received = free_port(), list[bytes]()
    with serving(chat_server(port, received)):
        url = f"mmost://127.0.0.1:{port}/{TOKEN}"
        send_to_people(url, "msg_1", "a title", "a text", "https://bigbatch.example.org/experiments/1", HERE)
    text = received[0].decode()
    assert all(part in text for part in ("a title", "a text", "bigbatch.example.org/experiments/1", "msg_1"))


@pytest.mark.ring("all")
def test_a_mail_server_gets_the_message() -> None:
    port, received = free_port(), list[str]()
    with serving(mail_server(port, received)):
        url = f"mailto://127.0.0.1:{port}?{MAIL}"
        send_to_people(url, "msg_1", "Run 3 failed", "a text", None, HERE)
    assert "Subject: Run 3 failed" in received[0]
    assert "ada@example.org" in received[0]


def test_a_server_that_refuses_is_an_error_without_the_token() -> None:
    """Forces the fault: the server answers 500."""
    port = free_port()
    with serving(chat_server(port, [], status=500)), pytest.raises(SendError) as caught:
        send_to_people(f"mmost://127.0.0.1:{port}/{TOKEN}", "msg_1", "a title", "a text", None, HERE)
    assert "did not accept" in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("scheme", ["mmost", "rocket", "gotify", "ntfy", "matrix", "mailto"])
def test_a_server_of_the_own_network_needs_the_setting(scheme: str) -> None:
    user = "user:password@" if scheme in ("rocket", "matrix", "mailto") else ""
    with pytest.raises(FinalError, match="BIGBATCH_NOTIFY_HOSTS"):
        send_to_people(f"{scheme}://{user}127.0.0.1:9/{TOKEN}?{MAIL}", "m", "t", "b", None, AllowedHosts())


def test_without_the_package_the_reason_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: apprise cannot be imported."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(FinalError) as caught:
        send_to_people("slack://x", "m", "t", "b", None, HERE)
    assert str(caught.value) == MISSING


def test_every_allowed_service_is_one_of_apprise() -> None:
    import apprise

    assert set(apprise.manager_plugins.NotificationManager().schemas()) >= SERVICES


def test_no_part_of_an_address_remains_in_the_words_of_a_library() -> None:
    address = "mailtos://bob:p%40ssw0rd@mail.example.org/?to=ada@example.org"
    words = "login of bob with p@ssw0rd at mail.example.org failed"
    assert redact(words, address) == "login of bob with *** at *** failed"
