"""Why a queued run may not go to its cluster yet, as a sentence."""

from datetime import datetime

from sqlalchemy.orm import Session

from api.sentences.local_queue import local_queue_sentence
from contract.lifecycle.state import State
from store import clusters
from store.lists.local_queue import read_local_queue
from store.tables.base import now
from store.tables.clusters import Cluster, SubmitLimit
from store.tables.runs import Run


def queue_sentence(db: Session, run: Run) -> str | None:
    """Return what limits the queue of a queued run that may go to its cluster; None if nothing does."""
    at = now()
    if run.state is not State.QUEUED or (run.not_before is not None and at < run.not_before):
        return None
    limit = clusters.submit_limit(db, run.cluster, run.queue)
    if limit and (sentence := submit_limit_sentence(limit, at)):
        return sentence
    cluster = db.get(Cluster, run.cluster)
    ranks = cluster.report.get("ranks") if cluster and cluster.report else None
    if ranks is None or run.stop_requested_at is not None:
        return None
    queue = read_local_queue(db, run)
    return local_queue_sentence(queue, run.world, ranks) if queue.live or queue.ahead else None


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
