"""SaveResult: the result of saving one checkpoint."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SaveResult:
    """Reported by rank 0; `error` says why there is no checkpoint."""

    step: int
    stall_s: float  # training waited for the copy of the state
    write_s: float  # from the start until the checkpoint was complete or had failed
    size_bytes: int = 0
    error: str | None = None
