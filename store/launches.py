"""Many runs at once on their way to a cluster: grouped, taken, placed or given back, each in a statement or two."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import String, case, cast, func, insert, literal, select, update
from sqlalchemy.orm import Session

from contract.run import LIVE, MOVES, State
from store.runs import waiting_for
from store.tables import Experiment, Move, Run, now

FRESH: dict[str, Any] = {  # what a new attempt knows of its job
    **dict.fromkeys(("job_id", "task", "gone_reason", "gone_cause", "gone_at", "own_cause")),
    **dict.fromkeys(("waits_for", "waits_kind", "unknown_since", "stop_asked_at", "stop_forced_at", "not_before")),
    "job_gone": False,
    "hosts": [],
}


class Group(NamedTuple):
    """Queued runs that may share a submission: same need, same attempt, and one experiment if that has a cap."""

    need: str
    attempt: int
    experiment_id: int | None
    max_parallel: int | None
    size: int


def groups(db: Session, cluster: str) -> list[Group]:
    """What waits for `cluster`, the group with the oldest run first."""
    capped = case((Experiment.max_parallel.is_not(None), Run.experiment_id))
    query = (
        select(Run.need, Run.attempt, capped, func.max(Experiment.max_parallel), func.count())
        .join(Experiment, Experiment.id == Run.experiment_id)
        .where(*waiting_for(cluster))
        .group_by(Run.need, Run.attempt, capped)
        .order_by(func.min(Run.id))
    )
    return [Group(*row) for row in db.execute(query)]


def members(db: Session, cluster: str, group: Group, limit: int) -> Sequence[Run]:
    """The oldest runs of a group."""
    mine = [*waiting_for(cluster), Run.need == group.need, Run.attempt == group.attempt]
    capped = Run.experiment_id.in_(select(Experiment.id).where(Experiment.max_parallel.is_not(None)))
    mine.append(Run.experiment_id == group.experiment_id if group.experiment_id is not None else ~capped)
    return db.scalars(select(Run).where(*mine).order_by(Run.id).limit(limit)).all()


def under_way(db: Session, cluster: str, experiment_id: int | None = None) -> dict[str, int]:
    """How many runs of each submission have not ended, of all or of one experiment."""
    there = [Run.cluster == cluster, Run.state.in_([*LIVE, State.SUBMITTING]), Run.job_name.is_not(None)]
    if experiment_id is not None:
        there.append(Run.experiment_id == experiment_id)
    rows = db.execute(select(Run.job_name, func.count()).where(*there).group_by(Run.job_name))
    return {str(name): count for name, count in rows}


def take(db: Session, waiting: Sequence[Run], name: str) -> list[Run]:
    """Make queued runs of one attempt ours alone, for the submission `name`; return those that nobody else took."""
    attempt = waiting[0].attempt
    mine = (
        update(Run)
        .where(Run.id.in_([run.id for run in waiting]), Run.state == State.QUEUED, Run.attempt == attempt)
        .where(Run.stop_wanted_at.is_(None))
    )
    change = {"state": State.SUBMITTING, "attempt": attempt + 1, "job_name": name, "moved_at": now(), "reason": None}
    won = set(db.scalars(_quietly(mine.values(**FRESH | change).returning(Run.id))))
    taken = [run for run in waiting if run.id in won]
    if len(taken) > 1:
        tasks = [{"id": run.id, "task": task} for task, run in enumerate(taken)]
        db.execute(update(Run), tasks)
    _note(db, [run.id for run in taken], State.QUEUED, State.SUBMITTING, None)
    ids = {run.id: run for run in db.scalars(select(Run).where(Run.id.in_(won)))}
    return [ids[run.id] for run in taken]


def still_ours(db: Session, name: str) -> bool:
    """Whether anything is still in submission under `name`; if so, its time begins anew: it was prepared until now."""
    mine = update(Run).where(Run.job_name == name, Run.state == State.SUBMITTING).values(moved_at=now())
    return bool(db.scalars(_quietly(mine.returning(Run.id))).all())


def place(db: Session, name: str, job_id: str, *, reason: str | None = None) -> list[int]:
    """The cluster has the submission `name` as `job_id`: its runs are pending; return which were still waiting."""
    task = cast(Run.task, String)
    ids = case((Run.task.is_(None), literal(job_id)), else_=literal(f"{job_id}_").concat(task))
    return move_named(db, name, State.PENDING, reason=reason, job_id=ids)


def move_named(db: Session, name: str, new: State, *, reason: str | None = None, **columns: Any) -> list[int]:
    """Move what is in submission under `name`; a name is of one attempt, so nobody else's runs can be meant."""
    assert new in MOVES[State.SUBMITTING]
    at = now()
    ended: Mapping[str, datetime] = {"ended_at": at} if not MOVES[new] else {}
    mine = update(Run).where(Run.job_name == name, Run.state == State.SUBMITTING)
    change = {"state": new, "reason": reason, "moved_at": at, **ended, **columns}
    moved = sorted(db.scalars(_quietly(mine.values(change).returning(Run.id))))
    _note(db, moved, State.SUBMITTING, new, reason)
    return moved


def is_of(run: Run, job_id: str) -> bool:
    """Whether the run's job is that one, or a task of it."""
    return str(run.job_id) == job_id or str(run.job_id).startswith(f"{job_id}_")


def named(db: Session, name: str) -> Sequence[Run]:
    """The runs of a submission, in the order of their tasks."""
    return db.scalars(select(Run).where(Run.job_name == name).order_by(Run.task, Run.id)).all()


def _note(db: Session, run_ids: Sequence[int], old: State, new: State, reason: str | None) -> None:
    if run_ids:
        at = now()
        db.execute(
            insert(Move), [{"run_id": id_, "old": old, "new": new, "reason": reason, "at": at} for id_ in run_ids]
        )


def _quietly(statement: Any) -> Any:
    """The session need not find out which loaded rows a statement meant: nobody reads them on."""
    return statement.execution_options(synchronize_session=False)
