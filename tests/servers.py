"""Real servers for tests, each on a free port and in a folder of its own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import redis

from tests.needs import program


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(what: str, ready: Callable[[], bool], patience_s: float = 30) -> None:
    """Wait until `ready`; fail with what was waited for."""
    until = time.monotonic() + patience_s
    while not ready():
        assert time.monotonic() < until, f"{what} did not come about within {patience_s:g} s"
        time.sleep(0.05)


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server in a folder of its own; yields the URL of its maintenance database."""
    folder = Path(tempfile.mkdtemp(prefix="bigbatch-postgres-"))  # pytest's folders are closed to PostgreSQL's user
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    initdb = program("initdb", *map(str, versions))
    # PostgreSQL will not run as root
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres")
    port, data = free_port(), folder / "data"
    subprocess.run([*prefix, initdb, "-D", data, "-A", "trust", "-U", "bigbatch", "--no-sync"], check=True, stdout=-3)
    options = ["-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", str(folder)]
    server = subprocess.Popen([*prefix, initdb.with_name("postgres"), "-D", data, *options], stderr=subprocess.DEVNULL)
    url = f"postgresql://bigbatch@127.0.0.1:{port}/postgres"
    try:
        wait_for("PostgreSQL", lambda: _answers_postgres(url))
        yield url
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def new_database(url: str, name: str) -> str:
    """Create an empty database on the server of `url`; return its URL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.rsplit("/", 1)[0] + f"/{name}"


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """A Redis server that keeps nothing; yields its URL."""
    port = free_port()
    command = [program("redis-server"), "--port", str(port), "--save", "", "--dir", folder, "--bind", "127.0.0.1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for("Redis", lambda: _answers_redis(port))
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(20)


def _answers_postgres(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.Error:
        return False
    return True


def _answers_redis(port: int) -> bool:
    try:
        return bool(redis.Redis(port=port).ping())
    except redis.RedisError:
        return False
