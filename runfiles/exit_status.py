"""Exit statuses of a job's processes by which the scheduler knows how an attempt ended."""

from __future__ import annotations

REFUSED = 3  # the attempt belongs to another job, or a later attempt has begun
PAUSED = 4  # a rank saved a checkpoint and ended on request
_VALID = range(-255, 256)  # negative: a signal


def in_text(text: str | bytes) -> int | None:
    """Return the exit status in a text; None without a valid one, for NFS may show a new file as empty at first."""
    try:
        status = int(text)
    except ValueError:
        return None
    return status if status in _VALID else None
