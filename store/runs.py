"""Runs: created, found, stopped and moved from state to state."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, insert, or_, select, tuple_, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from contract.experiment import ExperimentSpec
from contract.run import ENDED, LIVE, MOVES, State
from contract.spec import RunSpec
from store.tables import Experiment, Move, Run, now


def create(db: Session, spec: ExperimentSpec, *, key: str | None = None) -> tuple[int, list[int]]:
    """Store an experiment and one queued run per point; return their ids. A `key` can be used once."""
    experiment = Experiment(
        name=spec.name,
        description=spec.description,
        spec=spec.model_dump(mode="json"),
        max_parallel=spec.max_parallel,
        key=key,
    )
    db.add(experiment)
    db.flush()
    rows = [
        {
            "experiment_id": experiment.id,
            "number": number,
            "key": token_hex(4),
            "spec": run.model_dump(mode="json"),
            "values": values,
            "cluster": run.resources.kind,
            "need": need_of(run, []),
            "world": run.resources.world,
            "steps": run.steps,
        }
        for number, (values, run) in enumerate(spec.points())
    ]
    ids = list(db.scalars(insert(Run).returning(Run.id, sort_by_parameter_order=True), rows))
    db.execute(insert(Move), [{"run_id": run_id, "old": None, "new": State.QUEUED} for run_id in ids])
    return experiment.id, ids


def need_of(run: RunSpec, excluded: Sequence[str]) -> str:
    """A word that is the same for runs whose scripts ask a cluster for the same: they may share a submission."""
    asked = [run.resources.model_dump(mode="json"), run.rule.survives_workers, sorted(excluded)]
    text = json.dumps(asked, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def in_state(db: Session, *states: State) -> Sequence[Run]:
    """All runs in any of `states`, oldest first."""
    return db.scalars(select(Run).where(Run.state.in_(states)).order_by(Run.id)).all()


def queued(db: Session, cluster: str, limit: int) -> Sequence[Run]:
    """Runs that wait for `cluster`, that nobody has asked to stop and that need not wait longer, oldest first."""
    return db.scalars(select(Run).where(*waiting_for(cluster)).order_by(Run.id).limit(limit)).all()


def waiting_for(cluster: str) -> tuple[ColumnElement[bool], ...]:
    """What is true of a run that may go to `cluster` now."""
    soon = or_(Run.not_before.is_(None), Run.not_before <= now())
    return Run.state == State.QUEUED, Run.cluster == cluster, Run.stop_wanted_at.is_(None), soon


class LiveRun(NamedTuple):
    """What is asked of every live run at every tick; ten thousand of them are read in no time."""

    id: int
    key: str
    cluster: str
    state: str
    attempt: int
    job_id: str | None
    job_name: str | None
    cursor: int
    unknown_since: datetime | None
    waits_for: str | None
    gone_reason: str | None
    gone_cause: str | None
    gone_at: datetime | None


def live(db: Session, *, ended_after: datetime) -> list[LiveRun]:
    """Live runs, and those that ended a moment ago: on a slow file system their last lines may still be under way."""
    just_ended = and_(Run.state.in_(ENDED), Run.ended_at > ended_after, Run.job_id.is_not(None))
    columns = [getattr(Run, name) for name in LiveRun._fields]
    rows = db.execute(select(*columns).where(or_(Run.state.in_(LIVE), just_ended)).order_by(Run.id))
    return [LiveRun(*row) for row in rows]


def unstopped(db: Session) -> Sequence[Run]:
    """Runs that were asked to stop and have not ended."""
    return db.scalars(
        select(Run).where(Run.stop_wanted_at.is_not(None), Run.state.not_in(ENDED)).order_by(Run.id)
    ).all()


def with_leftover_jobs(db: Session, limit: int) -> Sequence[Run]:
    """Runs that ended or paused and whose job nobody has seen end yet, oldest first."""
    left = (Run.state.in_([*ENDED, State.PAUSED]), Run.job_id.is_not(None), Run.job_gone.is_(False))
    return db.scalars(select(Run).where(*left).order_by(Run.id).limit(limit)).all()


def note_gone(db: Session, run_ids: Sequence[int]) -> None:
    """Write down that the jobs of these runs have ended."""
    db.execute(update(Run).where(Run.id.in_(run_ids)).values(job_gone=True))


def move(db: Session, run: Run, new: State, *, reason: str | None = None, **columns: object) -> bool:
    """Move `run` to `new` if it is still where we last saw it; False when another hand was first."""
    old = State(run.state)
    if new not in MOVES[old]:
        raise ValueError(f"a run may not go from {old} to {new}")
    at = now()
    here = update(Run).where(Run.id == run.id, Run.state == old, Run.attempt == run.attempt)
    change = {"state": new, "reason": reason, "moved_at": at, **_times(run, new, at), **columns}
    won = db.scalar(here.values(change).returning(Run.id)) is not None
    if won:
        db.add(Move(run_id=run.id, old=old, new=new, reason=reason, at=at))
        for name, value in change.items():  # `run` may come from an earlier session
            set_committed_value(run, name, value)
    return won


def note_told_to_end(db: Session, told: Sequence[Run], *, force: bool) -> None:
    """Write down that the jobs of these runs were asked to end, or killed; the first asking keeps its moment."""
    at, mine = now(), update(Run).where(tuple_(Run.id, Run.attempt).in_([(run.id, run.attempt) for run in told]))
    asked = {"stop_asked_at": func.coalesce(Run.stop_asked_at, at)}
    change = asked | ({"stop_forced_at": at} if force else {})
    db.execute(mine.values(change).execution_options(synchronize_session=False))


def want_stop(db: Session, which: ColumnElement[bool], reason: str = "stopped on request") -> int:
    """Ask that the runs of `which` stop; return how many had not ended. The scheduler carries it out."""
    wanted = (
        update(Run)
        .where(which, Run.state.not_in(ENDED))
        .values(
            stop_wanted_at=func.coalesce(Run.stop_wanted_at, now()), stop_reason=func.coalesce(Run.stop_reason, reason)
        )
    )
    return len(db.scalars(wanted.returning(Run.id)).all())


def read_on(db: Session, run: LiveRun, cursor: int) -> bool:
    """Take the events from `run.cursor` to `cursor` as ours to store; False when another hand was first."""
    here = update(Run).where(Run.id == run.id, Run.cursor == run.cursor, Run.attempt == run.attempt)
    return db.scalar(here.values(cursor=cursor).returning(Run.id)) is not None


def read_on_together(db: Session, read: Sequence[tuple[LiveRun, int]]) -> set[int]:
    """Take the events of many runs up to a cursor each; return the runs of which another hand was not first."""
    here = [(run.id, run.cursor, run.attempt) for run, _ in read]
    cursors = case({run.id: cursor for run, cursor in read}, value=Run.id)
    mine = update(Run).where(tuple_(Run.id, Run.cursor, Run.attempt).in_(here)).values(cursor=cursors)
    return set(db.scalars(mine.returning(Run.id).execution_options(synchronize_session=False)))


def set_latest(db: Session, told: Mapping[int, tuple[dict[str, Any], int]]) -> None:
    """Add the newest value of every series, and the newest step, to what is known of each run."""
    rows = db.execute(select(Run.id, Run.latest, Run.step).where(Run.id.in_(told))).all()
    changes = [
        {"id": row.id, "latest": row.latest | told[row.id][0], "step": max(row.step, told[row.id][1])} for row in rows
    ]
    if changes:
        db.execute(update(Run), changes)


def set_unknown(db: Session, run_ids: Sequence[int], unknown: bool) -> None:
    """Note since when a cluster has not answered for these runs, or that it answers again."""
    if not run_ids:
        return
    change = update(Run).where(
        Run.id.in_(run_ids), Run.unknown_since.is_(None) if unknown else Run.unknown_since.is_not(None)
    )
    db.execute(change.values(unknown_since=now() if unknown else None))


def times(db: Session, run: Run, old: State, new: State, *, reason: str | None = None) -> int:
    """How often the run has gone from `old` to `new`, for that reason if one is given."""
    gone = [Move.run_id == run.id, Move.old == old, Move.new == new]
    if reason is not None:
        gone.append(Move.reason == reason)
    return db.scalar(select(func.count()).where(*gone)) or 0


def counts(db: Session) -> dict[str, int]:
    """How many runs are in each state that any is in."""
    rows = db.execute(select(Run.state, func.count()).group_by(Run.state))
    return {row[0]: row[1] for row in rows}


def busy_ranks(db: Session, cluster: str) -> int:
    """How many ranks the live runs of `cluster` hold."""
    held = or_(Run.state.in_(LIVE), Run.state == State.SUBMITTING)
    return sum(db.scalars(select(Run.world).where(Run.cluster == cluster, held)))


def _times(run: Run, new: State, at: datetime) -> dict[str, datetime]:
    if new is State.RUNNING:
        return {"started_at": run.started_at or at}  # that of the first attempt
    return {"ended_at": at} if new in ENDED else {}
