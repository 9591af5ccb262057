"""The sentence for a queued run whose cluster admits no more jobs."""

from datetime import datetime

from store.tables.clusters import SubmitLimit


def submit_limit_sentence(limit: SubmitLimit, at: datetime) -> str | None:
    """Return why runs of this queue wait, without a full stop; None if nothing holds them up."""
    is_held = limit.held_until is not None and at < limit.held_until
    if limit.refused is None:
        return f"waits: {limit.cluster} accepts no jobs for now: {limit.message}" if is_held else None
    least, most = limit.accepted, limit.refused - 1
    number = f"at most {most}" if least == most or not least else f"{least} to {most}"
    jobs = "job" if most == 1 else "jobs"
    admits = f"admits {number} {jobs}" if most else "admits no further job"
    return f"waits: {limit.cluster} {admits} of this service at a time: {limit.message}"
