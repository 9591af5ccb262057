"""Runs that begin: the rows of new points, and what a submission reads of them."""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from secrets import token_hex
from typing import Any, NamedTuple

from sqlalchemy import insert
from sqlalchemy.orm import Session

from contract.lifecycle.reuse import Reuse
from contract.reuse.key import reuse_key
from contract.spec.any_run import AnyRun
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import Values
from store import changes
from store.artifacts.contents import with_hashes
from store.run_table.spec_fields import add_run_fields, base_of
from store.tables import Experiment, Run
from store.transitions import record_created


class StepPoints(NamedTuple):
    """New points of a step of an experiment; of an experiment without steps, of no step."""

    step_id: int | None
    points: Sequence[tuple[Values, AnyRun]]
    force: bool = False  # none takes a finished run's result


def insert_runs(
    db: Session,
    experiment_id: int,
    points: Sequence[tuple[Values, AnyRun]],
    *,
    first: int,
    force: bool = False,
) -> list[int]:
    """Store a queued run for each point of an experiment, with numbers from `first` on; return their ids.

    `force`: none takes a finished run's result.
    """
    experiment = db.get_one(Experiment, experiment_id)
    return insert_runs_of_steps(db, experiment, [StepPoints(None, points, force)], first=first)


def insert_runs_of_steps(db: Session, experiment: Experiment, new: Sequence[StepPoints], *, first: int) -> list[int]:
    """Store a queued run for each point of several steps, as `insert_runs` does."""
    points = [(one, values, run) for one in new for values, run in one.points]
    documents = [run.model_dump(mode="json") for _, _, run in points]
    hashed = with_hashes(db, documents)
    rows: list[dict[str, Any]] = [
        {
            "experiment_id": experiment.id,
            "number": first + place,
            "step_id": one.step_id,
            "key": token_hex(6),  # 100,000 stored runs and 1,000 new ones share a key once in three million times
            "spec": documents[place],
            "values": values,
            "cluster": run.resources.kind,
            "need": need_of(run, []),
            "code": run.code if run.kind == "program" else None,
            "queue": queue_of(run),
            "world": run.resources.world,
            "steps": run.steps,
            "reuse": (Reuse.FORCED if one.force else Reuse.WANTED) if run.reuse else None,
            # with inputs: after they are hashed
            "reuse_key": None if run.inputs else reuse_key(run, {}, hashed[place]),
        }
        for place, (one, values, run) in enumerate(points)
    ]
    if not rows:
        return []
    # SQLite inserts row by row what is to return in the order of the rows
    id_of = {row.key: row.id for row in db.execute(insert(Run).returning(Run.id, Run.key), rows)}
    ids = [id_of[row["key"]] for row in rows]
    record_created(db, ids)
    changes.record_experiment(db, experiment.id)
    add_run_fields(db, base_of(experiment), {run_id: row["spec"] for run_id, row in zip(ids, rows, strict=True)})
    return ids


def need_of(run: AnyRun, excluded: Sequence[str]) -> str:
    """Return a text that is equal for runs whose scripts ask a cluster for the same: they may share a submission."""
    asked: list[Any] = [run.resources.model_dump(mode="json"), run.survives_workers, sorted(excluded)]
    if run.kind == "program":
        container = run.environment.container
        places = [run.working_folder, container.model_dump(mode="json")] if container else []
        asked += [run.launcher, places]
    text = json.dumps(asked, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def kinds_of_jobs(experiment: ExperimentSpec) -> list[tuple[AnyRun, int]]:
    """Return the first run of each kind of job that the known points have, and how many runs are of this kind."""
    first: dict[str, AnyRun] = {}
    counts: Counter[str] = Counter()
    for _, run in experiment.points():
        need = need_of(run, [])
        first.setdefault(need, run)
        counts[need] += 1
    return [(run, counts[need]) for need, run in first.items()]


def queue_of(run: AnyRun) -> str:
    """Return the partition, account and QOS of the run's jobs: a cluster may limit the number of jobs of each."""
    need = run.resources
    return "/".join(name or "" for name in (need.partition, need.account, need.qos)) if need.kind == "slurm" else ""
