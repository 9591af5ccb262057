"""For how long an attempt ran: by its own clock that nobody sets, else by moments of one clock. Pure functions."""

from datetime import datetime

from contract.folder.events import Failed, Finished, Paused, Stopped
from scheduler.outcome.facts import JobFacts

End = Finished | Failed | Paused | Stopped  # the events that end an attempt


def reported_seconds(job: JobFacts, end: End) -> float | None:
    """Return for how long an attempt ran that reports its end; None if that is not known.

    A job of an earlier version reports moments alone, which a clock that was set back makes worthless.
    """
    if end.ran_s is not None or job.started_at is None:
        return end.ran_s
    return _not_negative(end.at + job.clock_shift_s - job.started_at.timestamp())


def observed_seconds(job: JobFacts, end: datetime | None) -> float | None:
    """Return for how long an attempt ran that reported no end; `end`: by its cluster or its last sign of life."""
    if job.started_at is None or end is None:
        return None
    return _not_negative((end - job.started_at).total_seconds())


def _not_negative(seconds: float) -> float | None:
    return seconds if seconds >= 0 else None
