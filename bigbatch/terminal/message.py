"""Messages on stderr; a closed terminal is not an error."""

import sys
from contextlib import suppress


def print_message(text: str) -> None:
    """Print one line to stderr."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
