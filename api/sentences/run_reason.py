"""Why a run is in its state, as a sentence: what it waits for, why its attempt failed, who asked for its end."""

from datetime import timedelta

from api.sentences.pending import pending_sentence
from api.sentences.reason import reason_sentence
from contract.lifecycle.pending_reason import KIND_OF, Pending, PendingKind, PendingReason
from contract.lifecycle.reason import JobEnded, RankFailed, Retried, RunFailed, SubmissionDeferred
from contract.lifecycle.state import ENDED, State
from store.lists.run_list import ListedJob, ListedRun
from store.tables.base import now
from store.tables.runs import Job, Run

LOCAL = "local"  # the cluster of this machine
OVERDUE = timedelta(seconds=60)  # a cluster may take so long to end a job


def is_after_failure(run: Run | ListedRun) -> bool:
    """Return whether the attempt has failed and the run waits for the end of its job, or for its next attempt."""
    reason = run.reason.after if isinstance(run.reason, Retried) else run.reason
    has_failed = isinstance(reason, RunFailed | RankFailed) or (isinstance(reason, JobEnded) and bool(reason.failure))
    return has_failed and run.state in (State.PAUSED, State.QUEUED)


def pending_kind(job: Job | ListedJob | None) -> PendingKind | None:
    """Return the kind of the reason why the job waits; None for a job that has started."""
    reason = job and job.pending_reason
    return KIND_OF[reason] if reason and reason is not PendingReason.STARTING else None


def run_reason(run: Run | ListedRun, job: Job | ListedJob | None) -> str | None:
    """Return why the run is in its state, as a sentence; for an ended run also that its job goes on all the same."""
    reason, has_ended = (reason_sentence(run.reason) if run.reason else None), run.state in ENDED
    if job and job.external_id and not job.is_gone:
        if has_ended:
            return "; ".join(filter(None, [reason, _overdue(run.cluster, job)])) or None
        if run.state is State.QUEUED:
            waits = (
                _overdue(run.cluster, job) or f"{run.cluster} still has job {job.external_id} of attempt {run.attempt}"
            )
            return "; ".join(filter(None, [reason, f"the next attempt waits: {waits}"]))
    if run.stop_requested_at is not None and not has_ended:
        why = (job and _overdue(run.cluster, job)) or _while_live(run, job) or reason
        return "; ".join(filter(None, ["a stop was requested", why]))
    return _while_live(run, job) or reason


def _while_live(run: Run | ListedRun, job: Job | ListedJob | None) -> str | None:
    """Return what a run before its end waits for, as a sentence; None if that is not known, or nothing."""
    # a running job may be suspended; any other pending reason is from before it started
    is_held = run.state is State.RUNNING and pending_kind(job) is PendingKind.HELD
    if job and job.pending_reason and (run.state is State.PENDING or is_held):
        return pending_sentence(Pending(job.pending_reason, job.pending_detail))
    if run.state is State.PENDING and run.cluster == LOCAL:  # this machine starts a job as soon as it has it
        return pending_sentence(Pending(PendingReason.STARTING))
    return None


def reason_in_queue(run: Run, waits: str | None) -> str | None:
    """Return why the run is in its state; for a queued run also what limits its queue."""
    reason = run_reason(run, run.current_job)
    own = None if isinstance(run.reason, SubmissionDeferred) and waits else reason
    return "; ".join(filter(None, [own, waits])) or None


def _overdue(cluster: str, job: Job | ListedJob) -> str | None:
    """Return that the cluster was asked to end the job and has not, as a sentence; None while it still may."""
    if job.stop_requested_at is None or now() - job.stop_requested_at < OVERDUE:
        return None
    asked = f"{cluster} was asked to end the job at {job.stop_requested_at:%H:%M:%S}"
    killed = f" and to kill it, last at {job.kill_requested_at:%H:%M:%S}" if job.kill_requested_at else ""
    return f"{asked}{killed} UTC, and still runs it"
