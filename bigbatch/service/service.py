"""The whole service as one process tree: migrations, API, worker and clock, started and stopped together."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bigbatch.client import Client
from bigbatch.errors import ApiError, BigbatchError, Unreachable
from bigbatch.service.address import Address
from bigbatch.service.environment import environment_of
from bigbatch.service.interrupts import Interrupts
from bigbatch.service.process import ServiceProcess
from bigbatch.terminal.message import print_message

USUAL_START_S = 90.0  # a slow disk needs long to load the scheduler's libraries; then, and again, a message says why
END_S = 15.0
CLOSE_S = 45.0  # the scheduler kills jobs that have not paused after twenty seconds
POLL_INTERVAL_S = 0.2


class Service:
    """All processes of the service. Call `supervise` regularly, because it restarts ended processes."""

    def __init__(self, address: Address, home: Path, *, interrupts: Interrupts) -> None:
        self.address, self._home, self._interrupts = address, home, interrupts
        self._home_stat = os.stat(home)  # the folder of the lock: another folder of the same name is another home
        self._migrations = self._child("migrations", "migrations", "upgrade")
        self._check = self._child("check", "scheduler", "check")  # of the broker
        self._close = self._child("close", "scheduler", "close")
        self._parts = [  # in the order of their end
            self._child("clock", "scheduler", "clock"),
            self._child("worker", "scheduler", "worker"),
            self._child("api", "api", "--host", address.host, "--port", str(address.port)),
        ]

    def start(self) -> None:
        """Migrate the database, start every process and wait until the service is ready.

        Raise BigbatchError when a process ends. However long it takes, nothing is given up: a large database needs
        long to migrate, and a busy machine long to start.
        """
        began = datetime.now(UTC)
        first = [self._migrations, *([self._check] if os.environ.get("BIGBATCH_BROKER") else [])]
        for part in first:
            part.start()
        self._wait(self._missing_first)
        for part in first:
            if part.code():
                raise BigbatchError(part.describe_exit())
        for part in reversed(self._parts):
            part.start()
        with Client(self.address.url) as client:
            self._wait(lambda: self._missing_last(client, began))

    def supervise(self, seconds: float) -> None:
        """Restart ended processes for `seconds` seconds.

        Raise KeyboardInterrupt after an end request, and BigbatchError when the home is no longer there.
        """
        until = time.monotonic() + seconds
        while (remaining_s := until - time.monotonic()) > 0:
            self._interrupts.raise_if_any()
            if not self._home_is_there():
                raise BigbatchError(f"the home '{self._home}' was deleted or moved, so the service ends")
            for part in self._parts:
                part.restart_if_ended()
                part.bound_log()
            time.sleep(min(remaining_s, POLL_INTERVAL_S))

    def end(self) -> None:
        """End every process, then the jobs on this machine; a further signal kills the remaining processes at once."""
        signals_seen, was_running = self._interrupts.count, any(part.has_started for part in self._parts)
        if was_running and self._home_is_there():
            print_message("stopping the service and pausing its local runs ...")
        for part in self._parts:
            part.terminate()
        self._wait_until(lambda: not any(part.is_alive for part in self._parts), END_S, signals_seen=signals_seen)
        for child in (self._migrations, self._check, *self._parts):
            child.kill()
        if was_running and self._home_is_there():  # its database names the jobs
            self._end_jobs(signals_seen)

    def _home_is_there(self) -> bool:
        try:
            return os.path.samestat(os.stat(self._home), self._home_stat)
        except OSError:
            return False

    def _end_jobs(self, signals_seen: int) -> None:
        self._close.start()
        self._wait_until(lambda: not self._close.is_alive, CLOSE_S, signals_seen=signals_seen)
        if self._close.code() != 0:
            print_message(f"jobs on this machine may continue, and the next start adopts them; log: {self._close.log}")
        self._close.kill()

    def _wait(self, missing: Callable[[], str | None]) -> None:
        """Wait until nothing is missing, and say now and then what is; an end request raises KeyboardInterrupt."""
        began = time.monotonic()
        lacking: str | None = None

        def is_complete() -> bool:
            nonlocal lacking
            lacking = missing()
            return lacking is None

        while not self._wait_until(is_complete, USUAL_START_S, signals_seen=0):
            self._interrupts.raise_if_any()
            waited_s, logs = time.monotonic() - began, self._home / "logs"
            print_message(f"not ready after {waited_s:.0f} s, and still trying: {lacking}; logs: {logs}")
        self._interrupts.raise_if_any()

    def _wait_until(self, done: Callable[[], bool], limit_s: float, *, signals_seen: int) -> bool:
        until = time.monotonic() + limit_s
        while not (is_done := done()) and time.monotonic() < until and self._interrupts.count == signals_seen:
            time.sleep(POLL_INTERVAL_S)
        return is_done

    def _missing_first(self) -> str | None:
        """Return what the parts that come before all others wait for; None after their end."""
        waits = {"the database is being migrated": self._migrations, "the broker has not answered yet": self._check}
        return "; ".join(sentence for sentence, part in waits.items() if part.is_alive) or None

    def _missing_last(self, client: Client, began: datetime) -> str | None:
        """Return what the service still lacks, None if it is ready; raise BigbatchError if a part has ended."""
        for part in self._parts:
            if part.code() is not None:
                raise BigbatchError(part.describe_exit())
        return _missing(client, began)

    def _child(self, name: str, *words: str) -> ServiceProcess:
        own = {"BIGBATCH_HOME": str(self._home), "PYTHONUNBUFFERED": "1"}
        environment = environment_of(name, {**os.environ, **own})
        return ServiceProcess(name, words, log=self._home / "logs" / f"{name}.log", environment=environment)


def _missing(client: Client, began: datetime) -> str | None:
    """Return what the service that began then still lacks; None if it is ready."""
    try:
        answer = client.ready()
    except (Unreachable, ApiError) as error:
        return f"the API gives no answer ({error})"
    if answer.database != "ok":
        return f"the database: {answer.database}"
    if answer.scheduler_seen_at is None or answer.scheduler_seen_at < began:  # an earlier one may have reported
        return "the scheduler has not reported yet"
    return None if answer.ready else f"the scheduler: {answer.scheduler}"


@contextmanager
def running_service(address: Address, home: Path) -> Iterator[Service]:
    """Start the service, yield it, and end it after the block. The caller holds the home's lock."""
    with Interrupts() as interrupts:
        service = Service(address, home, interrupts=interrupts)
        try:
            service.start()
            yield service
        finally:
            service.end()
