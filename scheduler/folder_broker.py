"""kombu's broker in a folder, with messages that become visible as a whole.

kombu's own transport writes a message under its final name, and a reader does not wait for the writer: sometimes the
reader gets an empty message, and the worker's consumer fails (celery/kombu#1551, seen here on a busy machine).
"""

import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps

from contract.private_files import make_private, make_private_file

URL = "bigbatch-folder://"
TRANSPORT_ALIASES["bigbatch-folder"] = "scheduler.folder_broker:Transport"


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # the stubs use other names
        """Write under a name that no reader opens, then rename: a reader sees the whole message or none."""
        name = f"{time.monotonic_ns() // 1_000_000}_{uuid.uuid4()}.{queue}.msg"
        folder = Path(self.data_folder_out)
        draft = folder / f".{name}"
        make_private_file(draft)
        draft.write_text(dumps(payload))
        os.replace(draft, folder / name)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        super()._queue_bind(exchange, routing_key, pattern, queue)
        for file in self.control_folder.glob("*.exchange"):
            make_private(file)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """Return the next message. Drop a message that a crash left incomplete."""
        try:
            return super()._get(queue)
        except ValueError as error:
            raise Empty from error


class Transport(filesystem.Transport):
    Channel = Channel
