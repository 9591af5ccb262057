"""Words for whoever is at the terminal, on stderr; that nobody is there any more is no reason to fail."""

import sys
from contextlib import suppress


def say(text: str) -> None:
    """Print one line to stderr."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
