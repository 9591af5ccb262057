"""A client of GET /events, which reads in a thread."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import httpx

from tests.testing.api import WITH_TOKEN
from tests.testing.servers import wait_for

CONTEXT = ssl.create_default_context()  # one for all clients: to make it takes longer than a request


class StreamedEvent(NamedTuple):
    """One event."""

    kind: str
    data: Any
    id: str | None
    at: float  # time.monotonic


class EventClient:
    """The events that have arrived so far."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.events: list[StreamedEvent] = []
        self.has_ended = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._thread.start()

    def wait_for(self, what: str, is_there: Callable[[StreamedEvent], bool]) -> StreamedEvent:
        """Wait for an event and return it."""
        wait_for(what, lambda: any(map(is_there, list(self.events))))
        return next(event for event in self.events if is_there(event))

    def wait_for_run(self, run_id: int, **expected: object) -> StreamedEvent:
        """Wait for a change of a run whose entry has the expected values."""
        return self.wait_for(
            f"run {run_id} with {expected}, in {self.events}",
            lambda event: any(
                run["id"] == run_id and all(run[name] == value for name, value in expected.items())
                for run in event.data.get("runs", [])
            ),
        )

    def run_ids(self) -> set[int]:
        """Return the runs of all changes."""
        return {run["id"] for event in self.events for run in event.data.get("runs", [])}

    def _read(self, lines: Iterator[str]) -> None:
        fields: dict[str, str] = {}
        try:
            for line in lines:
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "event" in fields:
                    event = StreamedEvent(
                        fields["event"], json.loads(fields["data"]), fields.get("id"), time.monotonic()
                    )
                    self.events.append(event)
                    fields = {}
                else:
                    fields = {}
        except httpx.HTTPError:
            pass  # the connection was cut
        finally:
            self.has_ended.set()


@contextmanager
def event_stream(url: str, query: str = "", last_id: str | None = None) -> Iterator[EventClient]:
    """Follow changes; the end of the block cuts the connection."""
    headers = {**WITH_TOKEN, **({} if last_id is None else {"last-event-id": last_id})}
    timeout = httpx.Timeout(60, read=None)
    with (
        httpx.Client(headers=headers, timeout=timeout, verify=CONTEXT) as client,
        client.stream("GET", f"{url}/api/v1/events{query}") as response,
    ):
        assert response.status_code == 200, response.read()
        connection: socket.socket = response.extensions["network_stream"].get_extra_info("socket")
        try:
            yield EventClient(response.iter_lines())
        finally:
            with suppress(OSError):  # a close would wait for the thread that reads
                connection.shutdown(socket.SHUT_RDWR)
