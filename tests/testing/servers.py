"""Real servers for tests, each on a free port and in a folder of its own."""

import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx
import psycopg
import redis

from tests.testing.needs import program

PORTS = range(10_000, 20_000)  # below those that Linux gives to outgoing connections, and below the lab's
END_S = 60  # a server's end is no claim of ours


_chosen: list[IO[str]] = []  # a lock for each port, held until this process ends


def free_port() -> int:
    """A port that nobody listens on, that no connection which is made meanwhile can get, and no other test chooses."""
    folder = Path(tempfile.gettempdir()) / f"bigbatch-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    while True:
        port = random.choice(PORTS)
        lock = (folder / str(port)).open("w")
        with socket.socket() as listener, suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            listener.bind(("127.0.0.1", port))
            _chosen.append(lock)
            return port
        lock.close()


def wait_for(what: str, ready: Callable[[], bool], patience_s: float = 120) -> None:
    """Wait until `ready`; fail with what was waited for."""
    until = time.monotonic() + patience_s
    while not ready():
        assert time.monotonic() < until, f"{what} did not come about within {patience_s:g} s"
        time.sleep(0.05)


@dataclass
class Server:
    """A server's process, to be ended as a crash would and started again in the same place."""

    url: str
    command: Sequence[object]
    answers: Callable[[], bool]
    pid_file: Path | None = None  # where the command is not the server itself
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        words = [str(word) for word in self.command]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.url, self.answers)

    def kill(self) -> None:
        assert self.process
        # PostgreSQL's SIGQUIT ends all its processes at once, without a word to the disk
        sign = signal.SIGQUIT if self.pid_file else signal.SIGKILL
        os.kill(int(self.pid_file.read_text().split()[0]) if self.pid_file else self.process.pid, sign)
        self.process.wait(END_S)

    def end(self) -> None:
        assert self.process
        self.process.terminate()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:  # as when a client of a test that failed still holds a connection
            self.kill()


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server in a folder of its own; yields the URL of its maintenance database."""
    with postgres_process() as server:
        yield server.url


@contextmanager
def postgres_process(password: str = "") -> Iterator[Server]:
    """The same, in hand; with a password, connections without it are refused."""
    folder = Path(tempfile.mkdtemp(prefix="bigbatch-postgres-"))  # pytest's folders are closed to PostgreSQL's user
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    initdb = program("initdb", *map(str, versions))
    # PostgreSQL will not run as root
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    port, data, password_file = free_port(), folder / "data", folder / "password"
    password_file.write_text(password)
    for path in (folder, password_file) if prefix else ():
        shutil.chown(path, "postgres")
    words = ["-A", "scram-sha-256", "--pwfile", str(password_file)] if password else ["-A", "trust"]
    command = [*prefix, str(initdb), "-D", str(data), *words, "-U", "bigbatch", "--no-sync"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    password_file.unlink()
    options = ["-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", str(folder)]
    url = f"postgresql://bigbatch{password and f':{password}'}@127.0.0.1:{port}/postgres"
    start = [*prefix, initdb.with_name("postgres"), "-D", data, *options]
    server = Server(url, start, lambda: _answers_postgres(url), data / "postmaster.pid")
    try:
        server.start()
        yield server
    finally:
        server.end()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """A Redis server that keeps nothing; yields its URL."""
    with redis_process(folder) as server:
        yield server.url


@contextmanager
def redis_process(folder: Path, password: str = "") -> Iterator[Server]:
    """The same, in hand; with a password, connections without it are refused."""
    port = free_port()
    command = [program("redis-server"), "--port", str(port), "--save", "", "--dir", folder, "--bind", "127.0.0.1"]
    command += ["--requirepass", password] if password else []
    url = f"redis://{password and f'default:{password}@'}127.0.0.1:{port}/0"
    server = Server(url, command, lambda: _answers_redis(url))
    try:
        server.start()
        yield server
    finally:
        server.end()


def answers(url: str) -> bool:
    """Return whether a server answers this address with success."""
    try:
        return httpx.get(url).is_success
    except httpx.HTTPError:
        return False


def _answers_postgres(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.Error:
        return False
    return True


def _answers_redis(url: str) -> bool:
    try:
        return bool(redis.Redis.from_url(url).ping())
    except redis.RedisError:
        return False
