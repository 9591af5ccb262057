"""The only code that writes a step's state and its history: each change is a legal move and a compare-and-set."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.notification import NotifyEvent
from contract.lifecycle.step import OPEN_STEPS, STEP_MOVES, NotResolved, StepReason, StepState, end_of
from store import changes
from store.notify import occurrences
from store.steps.progress import run_counts
from store.tables.base import now
from store.tables.runs import Run
from store.tables.steps import Step, StepMove


def record_created(db: Session, step_ids: Sequence[int]) -> None:
    """Write the first history entry of steps that were inserted as waiting."""
    db.execute(insert(StepMove), [{"step_id": id_, "old": None, "new": StepState.WAITING} for id_ in step_ids])


class StepChange(NamedTuple):
    """A move of a step."""

    step_id: int
    old: StepState
    new: StepState
    reason: StepReason | None = None


def move_step(db: Session, step_id: int, old: StepState, new: StepState, reason: StepReason | None = None) -> bool:
    """Change a step if it is still in the state `old`; return False if another worker or a request was first."""
    return bool(move_steps(db, [StepChange(step_id, old, new, reason)]))


def move_steps(db: Session, wanted: Sequence[StepChange]) -> set[int]:
    """Change steps that are still in their old states; return their ids. Of several steps the caller has the locks."""
    moved: set[int] = set()
    same = defaultdict[tuple[StepState, StepState, str], list[StepChange]](list)
    for one in wanted:
        same[one.old, one.new, "" if one.reason is None else one.reason.model_dump_json()].append(one)
    for each in same.values():
        moved |= _move_all(db, each)
    return moved


def _move_all(db: Session, wanted: Sequence[StepChange]) -> set[int]:
    """Change steps of one old state to one new one, for one reason."""
    _, old, new, reason = wanted[0]
    if new not in STEP_MOVES[old]:
        raise ValueError(f"a step may not go from {old} to {new}")
    at = now()
    # a step ends with the last of its runs, however late the service reads that
    last = select(func.max(Run.ended_at)).where(Run.step_id == Step.id, Run.deleted_at.is_(None))
    end = func.coalesce(last.scalar_subquery(), at) if old is StepState.RUNNING else at
    change = {
        "state": new,
        "reason": reason,
        "moved_at": at,
        "ended_at": None if new in OPEN_STEPS else end,
        **({"expanded_at": at} if (old, new) == (StepState.WAITING, StepState.RUNNING) else {}),
    }
    # a step that waits has no runs, so one that has got them never waits again
    unchanged = [Step.id.in_([one.step_id for one in wanted]), Step.state == old]
    unchanged += [Step.expanded_at.is_(None)] if StepState.WAITING in (old, new) else []
    query = (
        update(Step).where(*unchanged).values(change).returning(Step.id, Step.experiment_id, Step.name, Step.ended_at)
    )
    rows = db.execute(query.execution_options(synchronize_session=False)).all()
    if rows:
        moves = [
            {"step_id": row.id, "old": old, "new": new, "reason": reason, "at": row.ended_at or at} for row in rows
        ]
        db.execute(insert(StepMove), moves)
    for row in rows:
        changes.record_experiment(db, row.experiment_id)
        if new not in OPEN_STEPS:
            occurrences.note_experiment(db, NotifyEvent.END, row.experiment_id)
        if new is StepState.FAILED and isinstance(reason, NotResolved):
            failure = {"step": row.name, "text": reason.message}
            occurrences.note_experiment(db, NotifyEvent.FAILURE, row.experiment_id, **failure)
    return {row.id for row in rows}


def change_steps(db: Session, wanted: Sequence[StepChange]) -> set[int]:
    """Change steps of any states, and return the ids of those that were still in theirs.

    A running step ends only if all its runs have ended so. A request that lets a run go on locks the step as well, so
    that the runs are counted before or after it.
    """
    lock_steps(db, [one.step_id for one in wanted])
    counts = run_counts(db, [one.step_id for one in wanted if one.old is StepState.RUNNING])
    return move_steps(
        db,
        [one for one in wanted if one.old is not StepState.RUNNING or end_of(counts.get(one.step_id, {})) is one.new],
    )


def lock_steps(db: Session, step_ids: Collection[int]) -> list[tuple[int, StepState]]:
    """Lock steps, in the order of their ids; return the id and the state of each."""
    query = select(Step.id, Step.state).where(Step.id.in_(step_ids)).order_by(Step.id)
    return [(row[0], row[1]) for row in db.execute(query.with_for_update(key_share=True))]


def go_on(db: Session, run_ids: Collection[int], reason: StepReason) -> None:
    """Let the steps of locked runs that were queued again run; those that ended because of them wait again."""
    mine = select(Run.step_id).where(Run.id.in_(run_ids), Run.step_id.is_not(None)).distinct()  # at most 10,000
    step_ids = [step_id for step_id in db.scalars(mine) if step_id is not None]
    if not step_ids:
        return
    for step_id, state in lock_steps(db, step_ids):
        if state not in OPEN_STEPS:
            move_step(db, step_id, state, StepState.RUNNING, reason)
    experiments = list(db.scalars(select(Step.experiment_id).where(Step.id.in_(step_ids)).distinct()))
    wait_again(db, experiments, {"need_ended", "workflow_failed"}, reason)


def wait_again(db: Session, experiment_ids: Collection[int], kinds: Collection[str], reason: StepReason) -> list[str]:
    """Let steps without runs that ended for a reason of these kinds wait again; return their names.

    The tick `plan` decides anew about them.
    """
    ended = [StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED]
    mine = (Step.experiment_id.in_(experiment_ids), Step.state.in_(ended), Step.expanded_at.is_(None))
    query = select(Step.id, Step.name, Step.state, Step.reason).where(*mine).order_by(Step.id)
    rows = db.execute(query.with_for_update(key_share=True)).all()
    return [
        row.name
        for row in rows
        if row.reason is not None
        and row.reason.kind in kinds
        and move_step(db, row.id, row.state, StepState.WAITING, reason)
    ]


def stop_waiting(db: Session, experiment_id: int, reason: StepReason) -> list[str]:
    """Cancel the waiting steps of an experiment; return their names."""
    mine = (Step.experiment_id == experiment_id, Step.state == StepState.WAITING)
    query = select(Step.id, Step.name).where(*mine).order_by(Step.id)
    rows = db.execute(query.with_for_update(key_share=True)).all()
    return [row.name for row in rows if move_step(db, row.id, StepState.WAITING, StepState.CANCELLED, reason)]
