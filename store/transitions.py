"""Transitions: the only code that writes a run's state and its history.

Each function checks the table of legal moves. `apply` relies on the caller's lock on the run's row. The others compare
and set: `apply_if_unchanged` a run that was read in an earlier transaction, the last ones all runs of a submission, or
all runs that were asked to stop, in a statement.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, String, case, cast, delete, func, insert, literal, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from contract.lifecycle.divergence import divergence_of
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import Reason, Recorded, StopRequested, TakenFrom
from contract.lifecycle.state import ENDED, MOVES, State
from store import changes, run_times
from store.locks import lock_jobs, lock_runs, lock_submission
from store.metrics.figures import store_divergences
from store.notify.moves import note_moves
from store.tables.base import now
from store.tables.runs import Job, Move, Run


class JobExit(NamedTuple):
    """The outcome of an attempt, stored on its job."""

    cause: ExitCause
    reason: Reason | None


class Transition(NamedTuple):
    """One move of one run, and the outcome of its attempt where the attempt ends."""

    new: State
    reason: Reason | None = None
    exit: JobExit | None = None
    reported_cause: ExitCause | None = None  # what the run reports of its end, before its job has left


def record_created(db: Session, run_ids: Sequence[int]) -> None:
    """Write the first history entry of runs that were inserted as queued."""
    db.execute(insert(Move), [{"run_id": run_id, "old": None, "new": State.QUEUED} for run_id in run_ids])


def insert_recorded(db: Session, rows: Sequence[Mapping[str, Any]], source: str) -> list[int]:
    """Insert runs that were carried out elsewhere, each as done with one entry of its history; return their ids."""
    done = [{**row, "state": State.DONE} for row in rows]
    ids = [row["id"] for row in done]
    db.execute(insert(Run), done)
    changes.record_runs(db, ids)
    reason = Recorded(source=source)
    db.execute(insert(Move), [{"run_id": id_, "old": None, "new": State.DONE, "reason": reason} for id_ in ids])
    return ids


def last_moved_at(db: Session, run: Run) -> datetime:
    """Return the moment of a run's last move, by its history."""
    newest = select(Move.at).where(Move.run_id == run.id).order_by(Move.id.desc()).limit(1)
    return db.scalar(newest) or run.created_at


def apply(
    db: Session, run: Run, job: Job | None, transition: Transition, at: datetime | None = None, **columns: object
) -> None:
    """Change a run whose row this transaction has locked; raise ValueError for an illegal move.

    `at` is when what the move follows from happened; without it that is now.
    """
    old, present = run.state, now()
    at = at or present
    _check(old, transition.new)
    for name, value in _changes(run, transition.new, transition.reason, at, {"moved_at": present, **columns}).items():
        setattr(run, name, value)
    db.add(Move(run_id=run.id, old=old, new=transition.new, reason=transition.reason, at=at))
    changes.record_runs(db, [run.id])
    cause = transition.exit.cause if transition.exit else None
    note_moves(db, [run.id], transition.new, transition.reason, cause)
    if job and transition.reported_cause:
        job.reported_cause = transition.reported_cause
    if job and transition.exit:
        job.exit_cause, job.exit_reason = transition.exit
        job.exit_step, job.ended_at = run.step, at
    if job and (transition.exit or job.ran_s is not None):
        run.ran_s = run_times.sum_of(run.jobs)


def apply_if_unchanged(db: Session, run: Run, new: State, reason: Reason | None = None, **columns: object) -> bool:
    """Change a run if its state and attempt are still those of `run`; return False if another worker was first."""
    old, at = run.state, now()
    _check(old, new)
    unchanged = (Run.id == run.id, Run.state == old, Run.attempt == run.attempt)
    change = _changes(run, new, reason, at, columns)
    if db.scalar(update(Run).where(*unchanged).values(change).returning(Run.id)) is None:
        return False
    if old is State.SUBMITTING and run.current_job_id is not None and new is not State.PENDING:
        _close_jobs(db, [run.current_job_id])
    db.add(Move(run_id=run.id, old=old, new=new, reason=reason, at=at))
    changes.record_runs(db, [run.id])
    note_moves(db, [run.id], new, reason)
    for name, value in change.items():  # `run` may come from an earlier session
        set_committed_value(run, name, value)
    return True


def begin_submission(db: Session, run_ids: Sequence[int], attempt: int) -> None:
    """Change locked queued runs to submitting and point each to its new job, that of `attempt`."""
    newest = select(Job.id).where(Job.run_id == Run.id, Job.attempt == attempt).scalar_subquery()
    columns = {"attempt": attempt, "current_job_id": newest, "not_before": None}
    _move_locked(db, run_ids, State.QUEUED, State.SUBMITTING, None, columns)


def apply_to_submission(
    db: Session,
    name: str,
    new: State,
    reason: Reason | None = None,
    *,
    job_id: str | None = None,
    at: datetime | None = None,
    **columns: Any,
) -> list[int]:
    """Change all runs of a submission that are still submitting; return their ids.

    With `job_id` the cluster has the submission under that id, and each job gets its own external id. Otherwise the
    cluster has no job of that name, and the jobs count as gone. `at` is when the cluster took it, if that is long ago.
    """
    run_ids = lock_submission(db, name, Run.state == State.SUBMITTING)
    _move_locked(db, run_ids, State.SUBMITTING, new, reason, columns, at)
    jobs = lock_jobs(db, Job.name == name, Job.run_id.in_(run_ids))
    if job_id is None:
        _close_jobs(db, jobs)
    elif jobs:
        task_id = literal(f"{job_id}_").concat(cast(Job.array_task, String))
        ids = case((Job.array_task.is_(None), literal(job_id)), else_=task_id)
        db.execute(_quietly(update(Job).where(Job.id.in_(jobs)).values(external_id=ids)))
    return run_ids


def withdraw_submission(db: Session, name: str, reason: Reason) -> list[int]:
    """Queue the runs of a submission that no cluster got, as if it had not been made; return their ids.

    Its jobs and its moves are deleted, and each run has its attempt number and its job of before. `withdrawn` grows, so
    the next submission has another name. Only the launcher may withdraw its submission, and only while it holds the
    lease: later another worker may have given up the attempt, whose number then must not be used again.
    """
    run_ids = lock_submission(db, name, Run.state == State.SUBMITTING)
    if not run_ids:
        return []
    _check(State.SUBMITTING, State.QUEUED)
    before = select(Job.id).where(Job.run_id == Run.id, Job.attempt == Run.attempt - 1).scalar_subquery()
    change = {
        "state": State.QUEUED,
        "reason": reason,
        "moved_at": now(),
        "attempt": Run.attempt - 1,
        "current_job_id": before,
        "withdrawn": Run.withdrawn + 1,
    }
    newest = select(func.max(Move.id)).where(Move.run_id.in_(run_ids)).group_by(Move.run_id)
    jobs = lock_jobs(db, Job.name == name, Job.run_id.in_(run_ids))
    db.execute(_quietly(delete(Move).where(Move.id.in_(newest), Move.new == State.SUBMITTING)))
    db.execute(_quietly(update(Run).where(Run.id.in_(run_ids)).values(change)))
    db.execute(_quietly(delete(Job).where(Job.id.in_(jobs))))
    changes.record_runs(db, run_ids)
    return run_ids


def end_with_results(db: Session, rows: Mapping[int, Mapping[str, Any]]) -> None:
    """End locked queued runs by their ids, each with the result of another one; `rows`: their further columns."""
    _check(State.QUEUED, State.DONE)
    at = now()
    reasons = {run_id: TakenFrom(run=columns["taken_from"]) for run_id, columns in rows.items()}
    change = {"state": State.DONE, "moved_at": at, "ended_at": at}
    db.execute(update(Run), [{"id": id_, "reason": reasons[id_], **change, **own} for id_, own in rows.items()])
    move = {"old": State.QUEUED, "new": State.DONE, "at": at}
    db.execute(insert(Move), [{"run_id": id_, "reason": reason, **move} for id_, reason in reasons.items()])
    changes.record_runs(db, rows)
    note_moves(db, list(rows), State.DONE, None)


def cancel_queued(db: Session, limit: int) -> int:
    """Cancel the oldest queued runs that were asked to stop, at most `limit`; return how many were."""
    run_ids = lock_runs(db, *queued_with_stop_request(), limit=limit)
    sources = dict(db.execute(select(Run.id, Run.stop_source).where(Run.id.in_(run_ids))).all())
    for source in sorted(set(sources.values()), key=str):
        mine = [run_id for run_id in run_ids if sources[run_id] == source]
        reason = StopRequested(source=source) if source else StopRequested()
        _move_locked(db, mine, State.QUEUED, State.CANCELLED, reason, {})
    return len(run_ids)


def queue_ended(
    db: Session, run_ids: Sequence[int], old: State, reason: Reason, columns: Mapping[str, Any] | None = None
) -> None:
    """Queue locked runs that ended in the state `old`: somebody asked for more, so all retries are theirs again.

    The current job remains the one of the last attempt. While it lives, no further job is submitted.
    """
    nothing = dict.fromkeys(("ended_at", "stop_requested_at", "stop_source", "not_before"))
    removals = dict.fromkeys(("points_removed_at", "history_removed_at"))
    change = {**nothing, **removals, "retries_after": Run.attempt, **(columns or {})}
    _move_locked(db, run_ids, old, State.QUEUED, reason, change)
    diverged = select(Run.id).where(Run.id.in_(run_ids), Run.diverged.is_not(None))
    store_divergences(db, list(db.scalars(diverged)))  # one that only the reason showed is gone


def queued_with_stop_request() -> tuple[ColumnElement[bool], ...]:
    """Return the condition for queued runs that were asked to stop."""
    return Run.state == State.QUEUED, Run.stop_requested_at.is_not(None)


def _check(old: State, new: State) -> None:
    if new not in MOVES[old]:
        raise ValueError(f"a run may not go from {old} to {new}")


def _changes(
    run: Run, new: State, reason: Reason | None, at: datetime, columns: Mapping[str, object]
) -> dict[str, object]:
    started = {"started_at": run.started_at or at} if new is State.RUNNING else {}  # of the first attempt
    # a clock may have been set back between two attempts
    ended = {"ended_at": max(at, run.started_at or at)} if new in ENDED else {}
    # a program that counts its steps from 0 has taken all of them when the last one is the number before
    whole = {"step": run.steps} if new is State.DONE and run.step == run.steps - 1 else {}
    found = divergence_of(reason, run.step) if new is State.FAILED and run.diverged is None else None
    diverged = {"diverged": found} if found else {}
    return {"state": new, "reason": reason, "moved_at": at, **started, **ended, **whole, **diverged, **columns}


def _move_locked(
    db: Session,
    run_ids: Sequence[int],
    old: State,
    new: State,
    reason: Reason | None,
    columns: Mapping[str, Any],
    at: datetime | None = None,
) -> None:
    """Change locked runs, all of them in state `old`, in one statement."""
    _check(old, new)
    if not run_ids:
        return
    present = now()
    at = at or present
    latest = case((Run.started_at > at, Run.started_at), else_=at)
    ended = {"ended_at": latest} if new in ENDED else {}
    change = {"state": new, "reason": reason, "moved_at": present, **ended, **columns}
    db.execute(_quietly(update(Run).where(Run.id.in_(run_ids), Run.state == old).values(change)))
    db.execute(insert(Move), [{"run_id": id_, "old": old, "new": new, "reason": reason, "at": at} for id_ in run_ids])
    changes.record_runs(db, run_ids)
    note_moves(db, run_ids, new, reason)


def _close_jobs(db: Session, job_ids: Sequence[int]) -> None:
    if job_ids:
        db.execute(_quietly(update(Job).where(Job.id.in_(job_ids)).values(is_gone=True)))


def _quietly(statement: Any) -> Any:
    """Skip the synchronisation of loaded rows: no caller reads them afterwards."""
    return statement.execution_options(synchronize_session=False)
