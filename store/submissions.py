"""Many runs at once on their way to a cluster: grouped, taken, placed or given back, each in a statement or two."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, String, case, cast, distinct, func, insert, literal, or_, select, update
from sqlalchemy.orm import Session, load_only

from contract.lifecycle.state import LIVE, MOVES, State
from contract.spec.checks.packing import width
from store import locks
from store.runs import waiting_for
from store.tables import Experiment, Move, Run, now

FRESH: dict[str, Any] = {  # what a new attempt knows of its job
    **dict.fromkeys(("job_id", "task", "member", "gone_reason", "gone_cause", "gone_at", "own_cause")),
    **dict.fromkeys(("waits_for", "waits_kind", "unknown_since", "stop_asked_at", "stop_forced_at", "not_before")),
    "job_gone": False,
    "hosts": [],
}


class Group(NamedTuple):
    """Queued runs that may share a submission: same need, same attempt, one experiment if that has a cap or packs."""

    need: str
    attempt: int
    experiment_id: int | None
    max_parallel: int | None
    size: int
    pack: int | None = None


def groups(db: Session, cluster: str) -> list[Group]:
    """What waits for `cluster`, the group with the oldest run first."""
    apart = case((_is_apart(), Run.experiment_id))
    query = (
        select(
            *(Run.need, Run.attempt, apart, func.max(Experiment.max_parallel)),
            *(func.count(), func.max(Experiment.pack)),
        )
        .join(Experiment, Experiment.id == Run.experiment_id)
        .where(*waiting_for(cluster))
        .group_by(Run.need, Run.attempt, apart)
        .order_by(func.min(Run.id))
    )
    return [Group(*row) for row in db.execute(query)]


def members(db: Session, cluster: str, group: Group, limit: int) -> Sequence[Run]:
    """The oldest runs of a group, as far as whoever takes them needs to know them."""
    mine = [*waiting_for(cluster), Run.need == group.need, Run.attempt == group.attempt]
    apart = Run.experiment_id.in_(select(Experiment.id).where(_is_apart()))
    mine.append(Run.experiment_id == group.experiment_id if group.experiment_id is not None else ~apart)
    known = load_only(Run.key, Run.attempt, Run.experiment_id, Run.cluster)
    return db.scalars(select(Run).options(known).where(*mine).order_by(Run.id).limit(limit)).all()


def _is_apart() -> ColumnElement[bool]:
    """Whether an experiment's runs share their submissions with no other's."""
    return or_(Experiment.max_parallel.is_not(None), Experiment.pack.is_not(None))


def under_way(db: Session, cluster: str, experiment_id: int | None = None) -> dict[str, int]:
    """How many runs of each submission have not ended, of all or of one experiment."""
    there = _there(cluster)
    if experiment_id is not None:
        there.append(Run.experiment_id == experiment_id)
    rows = db.execute(select(Run.job_name, func.count()).where(*there).group_by(Run.job_name))
    return {str(name): count for name, count in rows}


def jobs_under_way(db: Session, cluster: str) -> int:
    """How many jobs, and tasks of arrays, carry runs that have not ended."""
    tasks = func.count(distinct(func.coalesce(Run.task, -1)))
    return sum(db.scalars(select(tasks).where(*_there(cluster)).group_by(Run.job_name)))


def _there(cluster: str) -> list[ColumnElement[bool]]:
    return [Run.cluster == cluster, Run.state.in_([*LIVE, State.SUBMITTING]), Run.job_name.is_not(None)]


def shared(db: Session, ending: Sequence[Run]) -> set[tuple[str | None, int | None]]:
    """Of the submissions of these runs the jobs, by name and task, with a run that is not among them and goes on."""
    names, ids = {run.job_name for run in ending if run.member is not None}, {run.id for run in ending}
    if not names:
        return set()
    live = [Run.job_name.in_(names), Run.state.in_([*LIVE, State.SUBMITTING]), Run.gone_reason.is_(None)]
    live.append(Run.stop_wanted_at.is_(None))  # the job need not go on for one that is ending itself
    rows = db.execute(select(Run.job_name, Run.task, Run.id).where(*live))
    return {(name, task) for name, task, id_ in rows if id_ not in ids}


def left(cap: int, under_way: Mapping[str, int]) -> int:
    """How many more runs of an experiment may run at once: each submission may take up to the cap by itself."""
    return cap - sum(min(cap, runs) for runs in under_way.values())


def take(
    db: Session, waiting: Sequence[Run], name: str, *, pack: int | None = None, parallel: int | None = None
) -> list[Run]:
    """Make queued runs of one attempt ours alone, for the submission `name`; return those that nobody else took.

    The name is made of the first of them. Who does not win that one gets none: another launcher, which chose at another
    moment and fewer or more, has the name already, and what is placed under it would be placed for both.
    Several get a task each, or with `pack` so many of them a task together and a place in there each. With `parallel`,
    which was left of their experiment's cap, none is taken when another launcher has used some of that since.
    """
    if parallel is not None and _left(db, waiting[0]) < parallel:
        return []
    attempt = waiting[0].attempt
    free = [Run.state == State.QUEUED, Run.attempt == attempt, Run.stop_wanted_at.is_(None)]
    change = {"state": State.SUBMITTING, "attempt": attempt + 1, "job_name": name, "moved_at": now(), "reason": None}
    won = set(locks.hold(db, Run.id.in_([run.id for run in waiting]), *free))
    if waiting[0].id not in won:
        return []
    mine = update(Run).where(Run.id.in_(won))
    if len(won) > 1:
        each, turns = width(len(won), pack), func.row_number().over(order_by=Run.id) - 1
        turn = select(Run.id, turns.label("number")).where(Run.id.in_(won)).subquery()
        mine = mine.where(Run.id == turn.c.id)
        change |= {"task": turn.c.number // each, "member": turn.c.number % each if pack else None}
    db.execute(_quietly(mine.values(**FRESH | change)))
    _note(db, sorted(won), State.QUEUED, State.SUBMITTING, None)
    return list(db.scalars(select(Run).where(Run.id.in_(won)).order_by(Run.id)))


def _left(db: Session, run: Run) -> int:
    """What is left of the cap of the run's experiment; its launchers wait here for each other."""
    mine = select(Experiment.max_parallel).where(Experiment.id == run.experiment_id)
    cap = db.scalar(mine.with_for_update(key_share=True))
    return 0 if cap is None else left(cap, under_way(db, run.cluster, run.experiment_id))


def still_ours(db: Session, name: str) -> bool:
    """Whether anything is still in submission under `name`; if so, its time begins anew: it was prepared until now."""
    ours = hold(db, name)
    db.execute(_quietly(update(Run).where(Run.id.in_(ours)).values(moved_at=now())))
    return bool(ours)


def hold(db: Session, name: str) -> list[int]:
    """Lock what is in submission under `name`, for whoever moves some of it by itself and the rest together."""
    return locks.hold(db, Run.job_name == name, Run.state == State.SUBMITTING)


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
    change = {"state": new, "reason": reason, "moved_at": at, **ended, **columns}
    moved = hold(db, name)
    db.execute(_quietly(update(Run).where(Run.id.in_(moved)).values(change)))
    _note(db, moved, State.SUBMITTING, new, reason)
    return moved


def note_doubt(db: Session, name: str, words: str) -> None:
    """Write down why nobody knows whether the cluster took the submission `name`."""
    ours = hold(db, name)
    db.execute(_quietly(update(Run).where(Run.id.in_(ours)).values(reason=words)))


def returns(db: Session, run_id: int) -> int:
    """How often in a row the run has come back to the queue from a submission, since a cluster last took it."""
    taken = select(func.max(Move.id)).where(Move.run_id == run_id, Move.new == State.PENDING).scalar_subquery()
    back = (Move.run_id == run_id, Move.old == State.SUBMITTING, Move.new == State.QUEUED)
    return db.scalar(select(func.count()).where(*back, Move.id > func.coalesce(taken, 0))) or 0


def is_of(run: Run, job_id: str) -> bool:
    """Whether the run's job is that one, or a task of it."""
    return str(run.job_id) == job_id or str(run.job_id).startswith(f"{job_id}_")


def named(db: Session, name: str) -> Sequence[Run]:
    """The runs of a submission, in the order of their tasks."""
    return db.scalars(select(Run).where(Run.job_name == name).order_by(Run.task, Run.member, Run.id)).all()


def _note(db: Session, run_ids: Sequence[int], old: State, new: State, reason: str | None) -> None:
    if run_ids:
        at = now()
        db.execute(
            insert(Move), [{"run_id": id_, "old": old, "new": new, "reason": reason, "at": at} for id_ in run_ids]
        )


def _quietly(statement: Any) -> Any:
    """The session need not find out which loaded rows a statement meant: nobody reads them on."""
    return statement.execution_options(synchronize_session=False)
