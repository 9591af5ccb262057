"""The rendezvous of an attempt: rank 0 publishes its address and the attempt's secret, and all others wait for it.

contract/folder/rendezvous_point.py has the format of the file. Only the user of the job can read it.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Callable, NamedTuple, TypeVar

T = TypeVar("T")
TIMEOUT_S = 300.0  # Slurm may start the ranks of a large job minutes apart
# thousands of ranks wait for one file on a shared disk: from FIRST_POLL_S on, each waits half as long again
FIRST_POLL_S, POLL_S, SLOWER = 0.002, 1.0, 1.5
SECRET_BYTES = 32
_SECRET = re.compile(f"[0-9a-f]{{{2 * SECRET_BYTES}}}")


class Point(NamedTuple):
    """The address at which rank 0 listens."""

    host: str
    port: int


def text_of(point: Point, secret: str) -> str:
    """Return the text of the file that publishes a point."""
    return json.dumps({"host": point.host, "port": point.port, "secret": secret})


def point_in(text: str) -> Point | None:
    """Return the point in a file's text; None for a damaged one: NFS may show a new file as empty at first."""
    try:
        record = json.loads(text)
        host, port, secret = record["host"], record["port"], record["secret"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_whole = isinstance(host, str) and type(port) is int and isinstance(secret, str)
    return Point(host, port) if is_whole and 1 <= port <= 65_535 and _SECRET.fullmatch(secret) else None


def await_published(
    read: Callable[[], T | None],
    folder: Path,
    *,
    should_leave: Callable[[], bool] = lambda: False,
    on_miss: Callable[[float], None] = lambda _: None,
) -> T | None:
    """Return what `read` returns once rank 0 has published; None if `should_leave` becomes true before.

    In the long run one file is opened a second. `on_miss` is called with the seconds that have passed after each look
    that found nothing. Raise TimeoutError after TIMEOUT_S.
    """
    start, poll_s = time.monotonic(), FIRST_POLL_S
    while not should_leave():
        if (found := read()) is not None:
            return found
        if (waited_s := time.monotonic() - start) > TIMEOUT_S:
            raise TimeoutError(f"rank 0 has published no address in {folder} within {TIMEOUT_S:g} s")
        on_miss(waited_s)
        time.sleep(poll_s)
        poll_s = min(SLOWER * poll_s, POLL_S)  # ranks of one host start together; other hosts may take minutes
    return None
