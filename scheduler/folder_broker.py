"""kombu's broker in a folder, with messages that appear whole.

kombu's own writes a message under its final name and reads without waiting for the writer: now and then a reader gets
an empty message, and the worker's consumer dies of it (celery/kombu#1551, seen here on a busy machine).
"""

import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps

URL = "bigbatch-folder://"
TRANSPORT_ALIASES["bigbatch-folder"] = "scheduler.folder_broker:Transport"


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # the stubs disagree on names
        """Write under a name that no reader looks for, then rename: a message is there whole or not at all."""
        name = f"{time.monotonic_ns() // 1_000_000}_{uuid.uuid4()}.{queue}.msg"
        folder = Path(self.data_folder_out)
        draft = folder / f".{name}"
        draft.write_text(dumps(payload))
        os.replace(draft, folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The next message; one torn by a crash of the machine is dropped, as a lost tick may be."""
        try:
            return super()._get(queue)
        except ValueError as error:
            raise Empty from error


class Transport(filesystem.Transport):
    Channel = Channel
