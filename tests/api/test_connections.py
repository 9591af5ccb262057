"""Tests of the limits that hold before any token: slow requests, and more connections than the process has files."""

import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from api.access.throttle import MAX_FAILURES
from api.http.connections import HEAD_S, MAX_CONNECTIONS, OTHER_FILES, limited_protocol
from tests.testing.servers import free_port, wait_for

FILES = 1024  # the usual limit of open files
SLOW_CLIENTS = 1_100
HEAD = b"GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW_HEAD = HEAD.replace(b"\r\n\r\n", b"\r\nX-Slow: ")
BODY = b"POST /quick HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n8 bytes."
PATIENCE_S = 60.0


def open_files(soft: int, hard: int) -> Callable[[], None]:
    """For a subprocess: the limits of its open files."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def more_open_files(count: int) -> Iterator[None]:
    """This process may open at least so many files meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(count, before[0]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes the connection; responses before are dropped."""
    connection.settimeout(PATIENCE_S)
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/v1/health", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def api(tmp_path: Path) -> Iterator[int]:
    """The API as a process that may open FILES files; yields its port."""
    port = free_port()
    command = [sys.executable, "-m", "api", "--port", str(port)]
    inherited = {name: value for name, value in os.environ.items() if name != "FORWARDED_ALLOW_IPS"}
    environment = {**inherited, "BIGBATCH_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(command, env=environment, preexec_fn=open_files(FILES, FILES)) as process:
        try:
            wait_for("the API", lambda: is_healthy(f"http://127.0.0.1:{port}"))
            yield port
        finally:
            process.terminate()


@pytest.mark.ring("all")
def test_more_slow_clients_than_open_files_do_not_stop_the_service(api: int) -> None:
    """Forces the fault: 1,100 clients without a token send half a request to an API that may open 1,024 files."""
    with more_open_files(2 * FILES), ExitStack() as sockets:
        slow = [sockets.enter_context(socket.create_connection(("127.0.0.1", api))) for _ in range(SLOW_CLIENTS)]
        for client in slow:
            client.sendall(SLOW_HEAD)
        assert is_healthy(f"http://127.0.0.1:{api}")
        assert HEAD_S < PATIENCE_S
        assert all(is_closed(client) for client in slow)


@pytest.mark.ring("all")
def test_a_client_cannot_choose_the_address_that_its_failed_attempts_count_for(api: int) -> None:
    """Forces the fault: each wrong token of one client names another address, as a proxy does for its clients."""
    url = f"http://127.0.0.1:{api}/api/v1/runs"
    wrong = {"authorization": "Bearer wrong"}
    found = [
        httpx.get(url, headers={**wrong, "x-forwarded-for": f"192.0.2.{number}"}, timeout=PATIENCE_S).status_code
        for number in range(MAX_FAILURES + 1)
    ]
    assert found == [401] * MAX_FAILURES + [429]


@contextmanager
def server(*, most: int, head_s: float = PATIENCE_S, body_s: float = PATIENCE_S) -> Iterator[int]:
    """A server that completes its response to /slow after it has answered another request; yields its port."""
    answered = threading.Event()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        if scope["path"] == "/slow":
            await run_in_threadpool(answered.wait, PATIENCE_S)
        answered.set()
        await send({"type": "http.response.body", "body": b"ok"})

    listener = socket.create_server(("127.0.0.1", 0))
    http = limited_protocol(most, head_s=head_s, body_s=body_s)
    running = uvicorn.Server(uvicorn.Config(application, http=http, lifespan="off", log_level="error"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join()


def connect(port: int, data: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    connection.sendall(data)
    return connection


def receive_until(connection: socket.socket, end: bytes) -> None:
    received = b""
    while not received.endswith(end):
        part = connection.recv(1000)
        assert part, f"closed after {received!r}"
        received += part


def start_slow_response(port: int) -> socket.socket:
    """Return a connection whose request the service works on."""
    connection = connect(port, HEAD.replace(b"quick", b"slow"))
    receive_until(connection, b"\r\n\r\n")
    return connection


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("data", [b"", SLOW_HEAD, HEAD + SLOW_HEAD])
def test_a_request_whose_head_takes_too_long_ends(data: bytes) -> None:
    """Forces the fault: a client stops within the head of its first or second request."""
    with server(most=10, head_s=0.2) as port, connect(port, data) as slow:
        assert is_closed(slow)


@pytest.mark.ring("all")
def test_more_bytes_give_a_slow_head_no_more_time() -> None:
    """Forces the fault: a client sends a byte at a time, faster than any limit between two bytes would notice."""
    with server(most=10, head_s=1.0) as port, connect(port, SLOW_HEAD) as slow:
        slow.settimeout(0.02)
        for _ in range(round(PATIENCE_S / 0.02)):
            try:
                slow.send(b"x")
                if not slow.recv(1):
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("the connection stayed open")


def test_a_body_that_takes_too_long_ends_its_connection() -> None:
    """Forces the fault: a client stops within a body."""
    with server(most=10, body_s=0.2) as port, connect(port, BODY[:-1]) as slow:
        assert is_closed(slow)


def test_a_request_that_the_service_works_on_has_no_limit() -> None:
    """Forces the fault: the answer takes longer than a request may take to arrive."""
    with server(most=10, head_s=0.1, body_s=0.1) as port, start_slow_response(port) as patient:
        for _ in range(3):
            with connect(port, b"") as idle:
                assert is_closed(idle)
        with connect(port, BODY) as other:
            receive_until(other, b"ok")
        receive_until(patient, b"ok")


def test_beyond_the_limit_the_connection_that_has_waited_longest_ends() -> None:
    """Forces the fault: one connection more than the limit, while the service works on the oldest one's request."""
    with server(most=3) as port, start_slow_response(port) as working:
        with connect(port, SLOW_HEAD) as first, connect(port, SLOW_HEAD) as second, connect(port, b"") as third:
            assert is_closed(first)
            third.sendall(HEAD)
            receive_until(third, b"ok")
            second.sendall(b"\r\n\r\n")
            receive_until(second, b"ok")
        receive_until(working, b"ok")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("soft", "hard", "connections"),
    [(256, 8192, MAX_CONNECTIONS), (FILES, FILES, FILES - OTHER_FILES), (64, 64, 16)],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_may(soft: int, hard: int, connections: int) -> None:
    code = (
        "import api.http.connections as c; print(c.raise_open_files(), *c.resource.getrlimit(c.resource.RLIMIT_NOFILE))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, preexec_fn=open_files(soft, hard), capture_output=True, check=True, timeout=150)
    raised = min(hard, MAX_CONNECTIONS + OTHER_FILES)
    assert done.stdout.split() == [b"%d" % number for number in (connections, raised, hard)]
