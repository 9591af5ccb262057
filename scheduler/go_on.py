"""What becomes of a run whose job ended before its time: it is queued again, as often as its spec says, or ends."""

from datetime import timedelta

from sqlalchemy.orm import Session

from contract.cluster import ClusterReport
from contract.retries import Cause, Retries
from contract.run import State
from contract.spec import RunSpec
from store import attempts, clusters, runs
from store.tables import Run, now

AT_ONCE = (Cause.PREEMPTED, Cause.TIME_LIMIT)  # the cluster's own queue makes these wait
OUT_OF_SERVICE = ("down", "drain", "fail", "error", "unknown", "reboot")


def fail(db: Session, run: Run, reason: str) -> None:
    """The run has said that it failed: it ends, or pauses until its job has left if it may be tried again."""
    cause = Cause.OUT_OF_MEMORY if _is_memory(reason) else Cause.FAILURE
    if not run.stop_wanted_at and run.state != State.PAUSED and _refusal(db, run, cause) is None:
        runs.move(db, run, State.PAUSED, reason=reason, own_cause=cause)
    else:
        go_on(db, run, cause, reason)


def go_on(db: Session, run: Run, cause: Cause, why: str) -> None:
    """The job has left: queue the run for its next attempt, or end it where that is not wanted or not any more."""
    refusal = _refusal(db, run, cause)
    before = attempts.times(db, run, cause)
    said = run.reason if run.state == State.PAUSED and run.reason else why
    attempts.note(db, run, Cause.CANCELLED if run.stop_wanted_at else cause, said)
    if run.stop_wanted_at:
        runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
    elif cause is Cause.CANCELLED:
        runs.move(db, run, State.CANCELLED, reason=said)
    elif refusal is not None:
        runs.move(db, run, State.FAILED, reason=f"{said}{refusal}")
    else:
        _queue_again(db, run, cause, f"{said}; it goes on as attempt {run.attempt + 1}", before)


def _refusal(db: Session, run: Run, cause: Cause) -> str | None:
    """Why the run may not be tried again, as the end of a sentence; None when it may."""
    before = attempts.times(db, run, cause)
    if before >= _retries(run).times(cause):
        return f"; it was tried again {before} times after {cause.replace('_', ' ')}, no more" if before else ""
    latest = attempts.latest_step(db, run, cause) if cause is Cause.TIME_LIMIT else None
    if latest is not None and run.step <= latest:
        return f"; the attempt before had come as far as step {latest}, so another would not help"
    return None


def _queue_again(db: Session, run: Run, cause: Cause, reason: str, before: int) -> None:
    wait = timedelta(0) if cause in AT_ONCE else timedelta(seconds=_retries(run).wait_s(before))
    excluded = sorted({*run.excluded, *_failed_hosts(db, run)}) if cause is Cause.NODE_FAILURE else run.excluded
    need = runs.need_of(RunSpec.model_validate(run.spec), excluded)
    runs.move(db, run, State.QUEUED, reason=reason, not_before=now() + wait, excluded=excluded, need=need)


def _failed_hosts(db: Session, run: Run) -> list[str]:
    """The run's only host, or those of which its cluster says that they are out of service."""
    if len(run.hosts) <= 1:
        return run.hosts
    told = next((row.report for row in clusters.all_of(db) if row.kind == run.cluster), None)
    nodes = ClusterReport.model_validate(told).nodes if told else []
    bad = {node.name for node in nodes if node.state.endswith("*") or node.state.lower().startswith(OUT_OF_SERVICE)}
    return [host for host in run.hosts if host in bad]


def _retries(run: Run) -> Retries:
    return Retries.model_validate(run.spec.get("retries", {}))


def _is_memory(reason: str) -> bool:
    return "out of memory" in reason.lower() or "MemoryError" in reason
