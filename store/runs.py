"""Runs: created, found, stopped and moved from state to state."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, func, insert, or_, select, tuple_, update
from sqlalchemy.orm import Session, selectinload
from sqlalchemy.orm.attributes import set_committed_value

from contract.lifecycle.state import ENDED, LIVE, MOVES, State
from contract.spec.experiment import ExperimentSpec
from contract.spec.run import RunSpec
from store.locks import hold
from store.tables import Experiment, Move, Run, now


def create(db: Session, spec: ExperimentSpec, *, key: str | None = None) -> tuple[int, list[int]]:
    """Store an experiment and one queued run per point; return their ids. A `key` can be used once."""
    experiment = Experiment(
        name=spec.name,
        description=spec.description,
        spec=spec.model_dump(mode="json"),
        max_parallel=spec.max_parallel,
        pack=spec.pack,
        key=key,
    )
    db.add(experiment)
    db.flush()
    rows = [
        {
            "experiment_id": experiment.id,
            "number": number,
            "key": token_hex(6),  # of 100,000 runs stored and 1,000 new ones two are alike once in three million times
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
    member: int | None
    cursor: int
    unknown_since: datetime | None
    waits_for: str | None
    gone_reason: str | None
    gone_cause: str | None
    gone_at: datetime | None
    own_cause: str | None


def live(db: Session, *, ended_after: datetime) -> list[LiveRun]:
    """Live runs, and those that ended a moment ago: on a slow file system their last lines may still be under way."""
    just_ended = and_(Run.state.in_(ENDED), Run.ended_at > ended_after, Run.job_id.is_not(None))
    columns = [getattr(Run, name) for name in LiveRun._fields]
    rows = db.execute(select(*columns).where(or_(Run.state.in_(LIVE), just_ended)).order_by(Run.id))
    return [LiveRun(*row) for row in rows]


def with_leftover_jobs(db: Session, limit: int) -> Sequence[Run]:
    """Runs that ended or paused and whose job nobody has seen end yet, oldest first."""
    left = (Run.state.in_([*ENDED, State.PAUSED]), Run.job_id.is_not(None), Run.job_gone.is_(False))
    return db.scalars(select(Run).where(*left).order_by(Run.id).limit(limit)).all()


def note_gone(db: Session, run_ids: Sequence[int]) -> None:
    """Write down that the jobs of these runs have ended."""
    db.execute(update(Run).where(Run.id.in_(hold(db, Run.id.in_(run_ids)))).values(job_gone=True))


def move(db: Session, run: Run, new: State, *, reason: str | None = None, **columns: object) -> bool:
    """Move `run` to `new` if it is still where we last saw it; False when another hand was first."""
    old, at = _checked(run, new), now()
    here = update(Run).where(Run.id == run.id, Run.state == old, Run.attempt == run.attempt)
    change = _changed(run, new, reason, at, columns)
    won = db.scalar(here.values(change).returning(Run.id)) is not None
    if won:
        db.add(Move(run_id=run.id, old=old, new=new, reason=reason, at=at))
        for name, value in change.items():  # `run` may come from an earlier session
            set_committed_value(run, name, value)
    return won


def move_held(db: Session, run: Run, new: State, *, reason: str | None = None, **columns: object) -> None:
    """Move a run whose row this transaction has changed, so that nobody else can be first; written with the rest."""
    old, at = _checked(run, new), now()
    for name, value in _changed(run, new, reason, at, columns).items():
        setattr(run, name, value)
    db.add(Move(run_id=run.id, old=old, new=new, reason=reason, at=at))


def note_told_to_end(db: Session, told: Sequence[Run], *, force: bool) -> None:
    """Write down that the jobs of these runs were asked to end, or killed; the first asking keeps its moment."""
    ours = tuple_(Run.id, Run.attempt).in_([(run.id, run.attempt) for run in told])
    hold(db, ours)
    at = now()
    asked = {"stop_asked_at": func.coalesce(Run.stop_asked_at, at)}
    change = asked | ({"stop_forced_at": at} if force else {})
    db.execute(update(Run).where(ours).values(change).execution_options(synchronize_session=False))


def want_stop(db: Session, which: ColumnElement[bool], reason: str = "stopped on request") -> int:
    """Ask that the runs of `which` stop; return how many had not ended. The scheduler carries it out."""
    going = (which, Run.state.not_in(ENDED))
    held = hold(db, *going)
    wish = {
        "stop_wanted_at": func.coalesce(Run.stop_wanted_at, now()),
        "stop_reason": func.coalesce(Run.stop_reason, reason),
    }
    db.execute(update(Run).where(*going).values(wish))
    return len(held)


class Told(NamedTuple):
    """What a run has said, points and no more: up to which byte, the newest value of every series, the newest step."""

    run: LiveRun
    cursor: int
    latest: dict[str, float | None]
    step: int


def read_on_together(db: Session, several: Sequence[Told]) -> set[int]:
    """Take what runs have told; return those of which another hand was not first. Their whole rows are not read."""
    told = {one.run.id: one for one in several}
    query = select(Run.id, Run.cursor, Run.attempt, Run.latest, Run.step).where(Run.id.in_(told)).order_by(Run.id)
    rows = [
        row
        for row in db.execute(query.with_for_update(key_share=True))
        if (row.cursor, row.attempt) == (told[row.id].run.cursor, told[row.id].run.attempt)
    ]
    changes = [
        {
            "id": row.id,
            "cursor": told[row.id].cursor,
            "latest": row.latest | told[row.id].latest,
            "step": max(row.step, told[row.id].step),
        }
        for row in rows
    ]
    if changes:
        db.execute(update(Run), changes)
    return {row.id for row in rows}


def hold_as_read(db: Session, read: Sequence[LiveRun]) -> dict[int, Run]:
    """Lock these runs, whole and with what was tried before, but for those that another hand has read on."""
    seen = {run.id: (run.cursor, run.attempt) for run in read}
    query = select(Run).where(Run.id.in_(seen)).order_by(Run.id).options(selectinload(Run.tried))
    rows = db.scalars(query.with_for_update(key_share=True))
    return {run.id: run for run in rows if (run.cursor, run.attempt) == seen[run.id]}


def note_silence(db: Session, silent: Sequence[int], heard: Sequence[int]) -> None:
    """Note since when a cluster has not answered for the `silent` runs, and that it answers again for those `heard`."""
    hold(db, Run.id.in_([*silent, *heard]))
    db.execute(update(Run).where(Run.id.in_(silent), Run.unknown_since.is_(None)).values(unknown_since=now()))
    db.execute(update(Run).where(Run.id.in_(heard)).values(unknown_since=None))


def counts(db: Session) -> dict[str, int]:
    """How many runs are in each state that any is in."""
    rows = db.execute(select(Run.state, func.count()).group_by(Run.state))
    return {row[0]: row[1] for row in rows}


def busy_ranks(db: Session, cluster: str) -> int:
    """How many ranks the live runs of `cluster` hold."""
    held = or_(Run.state.in_(LIVE), Run.state == State.SUBMITTING)
    return sum(db.scalars(select(Run.world).where(Run.cluster == cluster, held)))


def _checked(run: Run, new: State) -> State:
    """Where the run is, from where it may go to `new`."""
    old = State(run.state)
    if new not in MOVES[old]:
        raise ValueError(f"a run may not go from {old} to {new}")
    return old


def _changed(
    run: Run, new: State, reason: str | None, at: datetime, columns: Mapping[str, object]
) -> dict[str, object]:
    return {"state": new, "reason": reason, "moved_at": at, **_times(run, new, at), **columns}


def _times(run: Run, new: State, at: datetime) -> dict[str, datetime]:
    if new is State.RUNNING:
        return {"started_at": run.started_at or at}  # that of the first attempt
    return {"ended_at": at} if new in ENDED else {}
