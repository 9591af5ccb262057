"""What came of saving once."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """Told by rank 0; `error` says why there is no checkpoint."""

    step: int
    stall_s: float  # training waited for the copy
    write_s: float  # from the start until it was whole, or given up
    size_bytes: int = 0
    error: str | None = None
