"""Runs that a database does not know, found in folders and queues: which they are, and their rows."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from contract.folder.claimed_job import ClaimedJob
from contract.folder.service_records import ExperimentRecord, RecordedMember
from contract.objective import stored_objective
from contract.spec.any_run import AnyRun
from contract.spec.experiment import ExperimentSpec
from store import changes, jobs, service
from store.lifecycle.new_runs import run_row
from store.metrics.objectives import column_of
from store.metrics.series import parts_of
from store.restored import give_attempt
from store.run_table.spec_fields import add_experiment_fields, add_run_fields, base_of
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.transitions import record_created


def attempts_of(db: Session, keys: Collection[str]) -> dict[str, int]:
    """Return the attempt of each run of these keys that the database has."""
    found: dict[str, int] = {}
    for part in parts_of(sorted(keys)):
        found |= dict(db.execute(select(Run.key, Run.attempt).where(Run.key.in_(part))).all())
    return found


def owned_names(db: Session, names: Collection[str]) -> set[str]:
    """Return those names of submissions that belong to any run of the database."""
    return {name for part in parts_of(sorted(names)) for name in jobs.runs_by_name(db, part)}


class CannotAdopt(ValueError):
    """The rows of an experiment cannot be made again, and why."""


class Adopted(NamedTuple):
    """An orphan with its spec and its latest job, read from its folder."""

    member: RecordedMember
    spec: AnyRun
    job: ClaimedJob | None

    @property
    def has_begun(self) -> bool:
        """Whether a job carries out an attempt, or has done so."""
        return self.job is not None and self.job.external_id is not None


def adopt(db: Session, record: ExperimentRecord, found: Sequence[Adopted]) -> int:
    """Store the runs of a recorded experiment that the database does not know; return the id of their experiment.

    Their jobs, events and ends are read as those of any run. A run that no job has begun is stopped, so that nothing
    starts which somebody may have cancelled meanwhile. Raise CannotAdopt.
    """
    try:
        spec = ExperimentSpec.from_stored(record.spec)
    except ValidationError as error:
        raise CannotAdopt(f"the spec of experiment {record.id} is not valid in this version") from error
    if spec.is_workflow or spec.search is not None:
        kind = "a workflow" if spec.is_workflow else "a sweep that learns"
        raise CannotAdopt(f"experiment {record.id} is {kind}, and its steps or trials are in no folder")
    ids = [one.member.id for one in found]
    if taken := list(db.scalars(select(Run.id).where(Run.id.in_(ids)).order_by(Run.id))):
        raise CannotAdopt(f"another run has the id {taken[0]}, which is a part of the folder's name")
    experiment = _experiment(db, record, spec)
    numbers = set(db.scalars(select(Run.number).where(Run.experiment_id == experiment.id)))
    if numbers & {one.member.number for one in found}:
        raise CannotAdopt(f"experiment {experiment.id} has other runs with these numbers")
    rows = [
        run_row(one.spec, one.spec.model_dump(mode="json"))
        | {"experiment_id": experiment.id, **one.member.model_dump(include={"id", "key", "number", "values"})}
        for one in found
    ]
    db.execute(insert(Run), rows)
    record_created(db, ids)
    changes.record_experiment(db, experiment.id)
    add_run_fields(db, base_of(experiment), {row["id"]: row["spec"] for row in rows})
    for one in found:
        run = db.get_one(Run, one.member.id)
        if one.job is not None:
            give_attempt(db, run, one.job)
        if not one.has_begun:
            db.refresh(run)
            run.stop_requested_at = now()
    service.raise_ids(db, service.Given(experiment.id, max(ids)))
    return experiment.id


def _experiment(db: Session, record: ExperimentRecord, spec: ExperimentSpec) -> Experiment:
    """Return the experiment of a record: the one that has other runs of it, else a new one, with its id if free."""
    keys = [member.key for member in record.runs]
    for part in parts_of(keys):
        known = db.scalar(select(Run.experiment_id).where(Run.key.in_(part)).limit(1))
        if known is not None:
            return db.get_one(Experiment, known)
    is_free = db.get(Experiment, record.id) is None
    experiment = Experiment(
        id=record.id if is_free else service.new_ids(db, "experiments", 1)[0],
        name=record.name,
        description=record.description,
        spec=spec.model_dump(mode="json"),
        objective=column_of(stored_objective(spec)),
        max_parallel=record.max_parallel,
        pack=record.pack,
        notes=record.notes,
        owner=record.owner,
        project=record.project,
    )
    db.add(experiment)
    db.flush()
    add_experiment_fields(db, experiment)
    return experiment
