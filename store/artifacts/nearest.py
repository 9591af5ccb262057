"""The finished run that differs least from another run, among the newest ones."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.differences import Difference, differences
from contract.lifecycle.state import State
from contract.reuse.key import canonical_spec
from store.artifacts.contents import with_references
from store.tables.base import now
from store.tables.runs import Run
from store.tables.steps import Step

SEARCHED = 100  # the newest runs that are done
MAX_VALUES = 100


class Compared(NamedTuple):
    """A finished run, and how another run differs from it."""

    id: int
    key: str | None
    code: str | None
    spec: list[Difference]
    inputs: dict[str, tuple[str | None, str | None]]  # by name: the hashes of the run, and of the finished one


def nearest_finished(db: Session, run: Run) -> Compared | None:
    """Return the run that was done before `run` began and differs least from it; of several the newest.

    A run of a step is compared with runs of other experiments' steps of that name. None if there is no run.
    """
    rows = _finished_before(db, run)
    own, *others = with_references(db, [run.spec, *(row.spec for row in rows)])
    mine = {**(run.input_hashes or {}), **own.hashes}
    found = [
        Compared(
            row.id,
            row.reuse_key,
            row.code,
            _spec_differences(own.spec, its.spec),
            _changed(mine, {**(row.input_hashes or {}), **its.hashes}),
        )
        for row, its in zip(rows, others, strict=True)
    ]
    return min(found, key=lambda one: len(one.spec) + (one.code != run.code) + len(one.inputs), default=None)


def _finished_before(db: Session, run: Run) -> Sequence[Any]:
    """Return the newest runs that could have given their result."""
    mine = (Run.state == State.DONE, Run.deleted_at.is_(None), Run.id != run.id)
    columns = (Run.id, Run.reuse_key, Run.code, Run.spec, Run.input_hashes, Run.ended_at, Run.taken_from)
    query = select(*columns).where(*mine).order_by(Run.id.desc()).limit(SEARCHED)
    if run.step_id is not None:
        others = [step for step in _steps_of_this_name(db, run.step_id) if step != run.step_id]
        query = query.where(Run.step_id.in_(others), Run.taken_from.is_(None))
    rows = db.execute(query).all()
    began = run.started_at or now()
    # no index has these, so a query for them would read all runs that ended
    could_give = [row for row in rows if row.taken_from is None and row.reuse_key is not None and row.ended_at <= began]
    return [row for row in could_give if row.spec.get("kind") == run.spec.get("kind")]


def _steps_of_this_name(db: Session, step_id: int) -> Sequence[int]:
    """Return the newest steps with the name of a step."""
    name = select(Step.name).where(Step.id == step_id).scalar_subquery()
    return db.scalars(select(Step.id).where(Step.name == name).order_by(Step.id.desc()).limit(SEARCHED)).all()


def _spec_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    mine, its = ({**canonical_spec(spec), "code": None} for spec in (first, second))
    return list(islice(differences(mine, its), MAX_VALUES))


def _changed(mine: Mapping[str, str], its: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    names = sorted({*mine, *its})
    return {name: (mine.get(name), its.get(name)) for name in names if mine.get(name) != its.get(name)}
