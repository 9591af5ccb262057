"""What becomes of a run whose job ended before its time: it is queued again, as often as its spec says, or ends."""

from datetime import timedelta

from sqlalchemy.orm import Session

from contract.lifecycle.failure import FailureKind
from contract.lifecycle.state import State
from contract.spec.retry import Cause, Retries
from contract.spec.run import RunSpec
from scheduler.outcome.excluded_hosts import excluded
from store import jobs as attempts
from store import runs
from store.tables import Run, now

# what ranks say who waited in vain for one on another host: Slurm may take longer to see that the host has failed, so
# what it was is known when the job has left (scheduler/outcome/exit_cause.py)
SUSPECTED = Cause.NODE_FAILURE
AT_ONCE = (Cause.PREEMPTED, Cause.TIME_LIMIT)  # the cluster's own queue makes these wait


def fail(db: Session, run: Run, reason: str, kind: FailureKind | None) -> None:
    """The run has said that it failed: it ends, or pauses until its job has left if it may be tried again."""
    cause = _own_cause(run, kind)
    if not run.stop_wanted_at and (cause is SUSPECTED or _refusal(run, cause) is None):
        runs.move_held(db, run, State.PAUSED, reason=reason, own_cause=cause)
    else:
        go_on(db, run, cause, reason)


def _own_cause(run: Run, kind: FailureKind | None) -> Cause:
    if kind is FailureKind.COLLECTIVE_TIMEOUT and len(run.hosts) > 1:
        return SUSPECTED
    return Cause.OUT_OF_MEMORY if kind is FailureKind.OUT_OF_MEMORY else Cause.FAILURE


def go_on(db: Session, run: Run, cause: Cause, why: str) -> None:
    """The job has left: queue the run for its next attempt, or end it where that is not wanted or not any more."""
    refusal = _refusal(run, cause)
    before = attempts.times(run, cause)
    said = run.reason if run.state == State.PAUSED and run.reason else why
    attempts.note(run, Cause.CANCELLED if run.stop_wanted_at else cause, said)
    if run.stop_wanted_at:
        runs.move_held(db, run, State.CANCELLED, reason=run.stop_reason)
    elif cause is Cause.CANCELLED:
        runs.move_held(db, run, State.CANCELLED, reason=said)
    elif refusal is not None:
        runs.move_held(db, run, State.FAILED, reason=f"{said}{refusal}")
    else:
        _queue_again(db, run, cause, f"{said}; it goes on as attempt {run.attempt + 1}", before)


def _refusal(run: Run, cause: Cause) -> str | None:
    """Why the run may not be tried again, as the end of a sentence; None when it may."""
    before = attempts.times(run, cause)
    if before >= _retries(run).times(cause):
        times = "once" if before == 1 else f"{before} times"
        return f"; it was tried again {times} after {cause.replace('_', ' ')}, no more" if before else ""
    latest = attempts.latest_step(run, cause) if cause is Cause.TIME_LIMIT else None
    if latest is not None and run.step <= latest:
        return f"; the attempt before had come as far as step {latest}, so another would not help"
    return None


def _queue_again(db: Session, run: Run, cause: Cause, reason: str, before: int) -> None:
    wait = timedelta(0) if cause in AT_ONCE else timedelta(seconds=_retries(run).wait_s(before))
    without = excluded(db, run, a_host_failed=cause is Cause.NODE_FAILURE)
    need = runs.need_of(RunSpec.model_validate(run.spec), without)
    runs.move_held(db, run, State.QUEUED, reason=reason, not_before=now() + wait, excluded=without, need=need)


def _retries(run: Run) -> Retries:
    return Retries.model_validate(run.spec.get("retries", {}))
