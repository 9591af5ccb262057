"""Warnings of the calls of a training script: each once, to standard error, and never an exception."""

from __future__ import annotations

import sys
from contextlib import suppress

MAX_KINDS = 200  # warnings of one process; after that nothing more is printed
_printed: set[str] = set()


def warn_once(kind: str, message: str) -> None:
    """Print a warning, unless one of this kind has been printed by this process."""
    if kind in _printed or len(_printed) >= MAX_KINDS:
        return
    _printed.add(kind)
    with suppress(Exception):  # standard error may be closed
        print(f"bigbatch: {message}", file=sys.stderr, flush=True)
