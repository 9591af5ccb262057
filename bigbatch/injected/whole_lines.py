"""Write each line of the output at once.

With PYTHONUNBUFFERED, which the agent sets so that no line is late, print() writes each of its parts by itself, and
srun makes a labelled line of each part.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any


def write_whole_lines() -> None:
    """Let the program's standard output and errors wait for the end of a line, or for flush()."""
    for stream in (sys.stdout, sys.stderr):
        text: Any = stream  # None without a console
        with suppress(Exception):
            text.reconfigure(line_buffering=True, write_through=False)
