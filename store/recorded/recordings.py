"""Experiments and runs that were carried out elsewhere: they are done when they are stored, and nothing starts them."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.api.incoming.recording import RecordedRun, RecordingRequest
from contract.spec.recorded.run import ELSEWHERE, RecordedExperiment, RecordedSpec
from store import changes, service
from store.lifecycle import tags
from store.run_table.spec_fields import add_experiment_fields, add_run_fields, base_of
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.transitions import insert_recorded


class AddedRuns(NamedTuple):
    """The ids of the runs of a request, and how many of them are new."""

    ids: list[int]
    new: int


def create(db: Session, asked: RecordingRequest, *, key: str | None, owner: str) -> int:
    """Store an experiment without runs; return its id. A `key` can be used once."""
    labels = asked.model_dump(mode="json", exclude={"source"})
    spec = RecordedExperiment(**labels, base=RecordedSpec(source=asked.source))
    experiment = Experiment(
        id=service.new_ids(db, "experiments", 1)[0],
        name=asked.name,
        description=asked.description,
        spec=spec.model_dump(mode="json"),
        key=key,
        notes=asked.notes,
        owner=owner if asked.owner is None else asked.owner,
        project=asked.project,
    )
    db.add(experiment)
    db.flush()
    changes.record_experiment(db, experiment.id)
    add_experiment_fields(db, experiment)
    tags.store_experiment_tags(db, experiment.id, present=(), wanted=asked.tags)
    return experiment.id


def add_runs(db: Session, experiment: Experiment, asked: Sequence[RecordedRun]) -> AddedRuns:
    """Store runs of a locked experiment; those with keys that it has stay as they are."""
    keys = [_key(experiment.id, run.key) for run in asked]
    known = _ids(db, keys)
    new = {key: run for key, run in zip(keys, asked, strict=True) if key not in known}
    last = db.scalar(select(func.max(Run.number)).where(Run.experiment_id == experiment.id))
    first = 0 if last is None else last + 1
    source = base_of(experiment)["source"]
    run_ids = service.new_ids(db, "runs", len(new)) if new else []
    rows = [
        {"id": run_id} | _row(experiment.id, number, key, run, source)
        for run_id, number, (key, run) in zip(run_ids, count(first), new.items(), strict=False)
    ]
    if rows:
        changes.record_experiment(db, experiment.id)
        ids = insert_recorded(db, rows, source)
        known |= dict(zip(new, ids, strict=True))
        add_run_fields(db, base_of(experiment), {run_id: row["spec"] for run_id, row in zip(ids, rows, strict=True)})
        for run_id, run in zip(ids, new.values(), strict=True):
            tags.store_run_tags(db, run_id, present=(), wanted=run.tags)
    return AddedRuns([known[key] for key in keys], len(new))


def _ids(db: Session, keys: Sequence[str]) -> dict[str, int]:
    rows = db.execute(select(Run.key, Run.id).where(Run.key.in_(keys)))
    return {row[0]: row[1] for row in rows}


def _key(experiment_id: int, key: str) -> str:
    """Return the key of a run: runs of other experiments, and those that the service makes, have others."""
    return sha256(f"{experiment_id}/{key}".encode()).hexdigest()[:24]


def _row(experiment_id: int, number: int, key: str, run: RecordedRun, source: str) -> dict[str, Any]:
    spec = RecordedSpec(source=source, name=run.name, parameters=run.parameters)
    named = {"name": run.name} if run.name else {}
    ended_at = run.ended_at or now()
    return {
        "experiment_id": experiment_id,
        "number": number,
        "key": key,
        "spec": spec.model_dump(mode="json"),
        "values": named | {f"parameters.{name}": value for name, value in run.parameters.items()},
        "cluster": ELSEWHERE,
        "world": 1,
        "steps": 0,
        "notes": run.notes,
        "started_at": run.started_at,
        "ended_at": ended_at if run.started_at is None else max(run.started_at, ended_at),
        "ran_s": _seconds(run.started_at, run.ended_at),
    }


def _seconds(begin: datetime | None, end: datetime | None) -> float | None:
    """Return the seconds between two moments; None if one is not known, or if the end is the earlier one."""
    if begin is None or end is None or end < begin:
        return None
    return (end - begin).total_seconds()
