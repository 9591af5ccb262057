"""Writes that a full disk or a file server rejects, and that are tried again: what they report would be lost."""

from __future__ import annotations

import sys
import time
from typing import Callable

FOR_S, EVERY_S = 60.0, 1.0


def try_for(write: Callable[[], None], what: str, *, limit_s: float | None = None) -> OSError | None:
    """Call `write` until it raises no OSError, for a minute by default; say at first that `what` was not written.

    Return None after success, else the last error. `limit_s`: another time, in seconds.
    """
    is_said = False
    until = time.monotonic() + (FOR_S if limit_s is None else limit_s)
    while True:
        try:
            write()
        except OSError as error:
            if not is_said:
                print(f"bigbatch: {what} could not be written: {error}", file=sys.stderr, flush=True)
                is_said = True
            if time.monotonic() >= until:
                return error
        else:
            return None
        time.sleep(EVERY_S)
