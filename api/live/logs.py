"""The sizes of the logs of runs that streams follow: files of run folders, each looked at once for all its streams."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from anyio import CapacityLimiter, to_thread

from api.live.subscription import Subscription
from contract.api.service import LogSize
from contract.folder.files.untrusted_file import size_of
from contract.folder.run_folder import LOG

PERIOD_S = 0.5
Send = Callable[[Subscription, str], None]


class LogWatch:
    """Looks at the logs in a thread of its own: a file system that hangs delays no other event."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._streams: dict[Subscription, dict[int, int]] = {}  # with the sizes that each client knows, by run
        self._task: asyncio.Task[None] | None = None
        self._thread = CapacityLimiter(1)

    def follow(self, stream: Subscription) -> None:
        """Send the sizes of the logs of a stream's runs, now and whenever they change."""
        if not stream.scope.folders:
            return
        self._streams[stream] = {}
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def leave(self, stream: Subscription) -> None:
        """Forget a stream."""
        self._streams.pop(stream, None)

    async def _watch(self) -> None:
        while self._streams:
            folders = {folder for stream in self._streams for folder in stream.scope.folders}
            sizes = await to_thread.run_sync(_sizes_of, dict(folders), limiter=self._thread)
            for stream, known in list(self._streams.items()):
                self._send_new(stream, known, sizes)
            await asyncio.sleep(PERIOD_S)

    def _send_new(self, stream: Subscription, known: dict[int, int], sizes: Mapping[int, int]) -> None:
        for run_id in stream.scope.runs:
            size = sizes.get(run_id)
            if size is not None and known.get(run_id) != size:
                known[run_id] = size
                self._send(stream, LogSize(run_id=run_id, size=size).model_dump_json())


def _sizes_of(folders: Mapping[int, Path]) -> dict[int, int]:
    """Return the sizes of the logs; one that cannot be looked at is left out."""
    found = {}
    for run_id, folder in folders.items():
        try:
            found[run_id] = size_of(folder, LOG) or 0
        except OSError:  # the next look may work; GET /runs/ID/log says what is wrong
            continue
    return found
