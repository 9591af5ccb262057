"""The whole service as one process tree: database, door, hands and clock; started, tended and ended together."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from bigbatch.client import Client
from bigbatch.errors import ApiError, BigbatchError, Unreachable
from bigbatch.service.address import Address
from bigbatch.service.interrupts import Interrupts
from bigbatch.service.process import Child
from bigbatch.terminal.message import say

START_S = 90.0  # a slow disk reads the scheduler's libraries for a while
END_S = 15.0
CLOSE_S = 30.0  # the scheduler gives jobs ten seconds before it uses force
LOOK_S = 0.2


class Service:
    """Its parts; `tend` must be called now and then for those that end to be started again."""

    def __init__(self, address: Address, home: Path, *, interrupts: Interrupts) -> None:
        self.address, self._home, self._interrupts = address, home, interrupts
        self._migrations = self._child("migrations", "migrations", "upgrade")
        self._close = self._child("close", "scheduler", "close")
        self._parts = [  # in the order in which they end
            self._child("clock", "scheduler", "clock"),
            self._child("worker", "scheduler", "worker"),
            self._child("api", "api", "--host", address.host, "--port", str(address.port)),
        ]

    def start(self) -> None:
        """Bring the database up to date, start every part and wait until the service can do its work."""
        began = datetime.now(UTC)
        self._migrations.start()
        if not self._wait(lambda: not self._migrations.alive, START_S):
            raise BigbatchError(f"the database was not brought up to date within {START_S:g} s")
        if self._migrations.code():
            raise BigbatchError(self._migrations.last_words())
        for part in reversed(self._parts):
            part.start()
        with Client(self.address.url) as client:
            if not self._wait(lambda: self._is_ready(client, began), START_S):
                raise BigbatchError(f"the service was not ready within {START_S:g} s: see {self._home / 'logs'}")

    def tend(self, seconds: float) -> None:
        """Let `seconds` pass; start parts that ended again; raise KeyboardInterrupt when the end is asked for."""
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0:
            self._interrupts.raise_if_any()
            for part in self._parts:
                part.tend()
            time.sleep(min(left_s, LOOK_S))

    def end(self) -> None:
        """End every part, then the jobs on this machine; a further signal kills what is left at once."""
        heard, was_up = self._interrupts.count, any(part.begun for part in self._parts)
        if was_up:
            say("ending the service ...")
        for part in self._parts:
            part.ask_to_end()
        self._wait_unless_heard(lambda: not any(part.alive for part in self._parts), END_S, heard=heard)
        for child in (self._migrations, *self._parts):
            child.kill()
        if was_up:
            self._end_jobs(heard)

    def _end_jobs(self, heard: int) -> None:
        self._close.start()
        self._wait_unless_heard(lambda: not self._close.alive, CLOSE_S, heard=heard)
        if self._close.code() != 0:
            say(f"jobs on this machine may go on; the next start finds them again; see {self._close.log}")
        self._close.kill()

    def _wait(self, done: Callable[[], bool], limit_s: float) -> bool:
        """Wait for `done`; False when the time is over; raise KeyboardInterrupt when the end is asked for."""
        happened = self._wait_unless_heard(done, limit_s, heard=0)
        self._interrupts.raise_if_any()
        return happened

    def _wait_unless_heard(self, done: Callable[[], bool], limit_s: float, *, heard: int) -> bool:
        until = time.monotonic() + limit_s
        while not (happened := done()) and time.monotonic() < until and self._interrupts.count == heard:
            time.sleep(LOOK_S)
        return happened

    def _is_ready(self, client: Client, began: datetime) -> bool:
        """Whether the scheduler was seen since we began; the one before us may have been seen a moment ago."""
        for part in self._parts:
            if part.code() is not None:
                raise BigbatchError(part.last_words())
        with suppress(Unreachable, ApiError):
            answer = client.ready()
            return answer.ready and answer.scheduler_seen_at is not None and answer.scheduler_seen_at >= began
        return False

    def _child(self, name: str, *words: str) -> Child:
        environment = {**os.environ, "BIGBATCH_HOME": str(self._home), "PYTHONUNBUFFERED": "1"}
        return Child(name, words, log=self._home / "logs" / f"{name}.log", environment=environment)


@contextmanager
def running(address: Address, home: Path) -> Iterator[Service]:
    """The service, ready; it is gone when the block is left. Hold the home's lock around it."""
    with Interrupts() as interrupts:
        service = Service(address, home, interrupts=interrupts)
        try:
            service.start()
            yield service
        finally:
            service.end()
