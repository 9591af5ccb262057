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
from contract.spec.grid.grid import Values
from store import changes, service
from store.artifacts.contents import with_hashes
from store.run_table.spec_fields import add_run_fields, base_of
from store.tables.experiments import Experiment
from store.tables.runs import Run
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
    if not points:
        return []
    documents = [run.model_dump(mode="json") for _, _, run in points]
    hashed = with_hashes(db, documents)
    ids, mine = service.new_ids(db, "runs", len(points)), service.identity(db)
    rows = [
        {
            **run_row(run, documents[place]),
            "id": ids[place],
            "experiment_id": experiment.id,
            "number": first + place,
            "step_id": one.step_id,
            "values": values,
            "key": mine + token_hex(service.WHOLE_KEY // 2),
            "reuse": (Reuse.FORCED if one.force else Reuse.WANTED) if run.reuse else None,
            # with inputs: after they are hashed
            "reuse_key": None if run.inputs else reuse_key(run, {}, hashed[place]),
        }
        for place, (one, values, run) in enumerate(points)
    ]
    db.execute(insert(Run), rows)
    record_created(db, ids)
    changes.record_experiment(db, experiment.id)
    add_run_fields(db, base_of(experiment), {run_id: row["spec"] for run_id, row in zip(ids, rows, strict=True)})
    return list(ids)


def run_row(run: AnyRun, document: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a run that follow from its spec; `document` is the spec as it is stored."""
    return {
        "spec": document,
        "cluster": run.resources.kind,
        "need": need_of(run, []),
        "code": run.snapshot,
        "queue": queue_of(run),
        "world": run.resources.world,
        "steps": run.steps,
    }


def need_of(run: AnyRun, excluded: Sequence[str]) -> str:
    """Return a text that is equal for runs whose scripts ask a cluster for the same: they may share a submission."""
    resources = run.resources.model_dump(mode="json")
    text = json.dumps([resources, run.survives_workers, sorted(excluded), *run.script_parts], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def kinds_of_jobs(points: Sequence[tuple[Values, AnyRun]]) -> list[tuple[AnyRun, int]]:
    """Return the first run of each kind of job that the points have, and how many runs are of this kind."""
    first: dict[str, AnyRun] = {}
    counts: Counter[str] = Counter()
    for _, run in points:
        need = need_of(run, [])
        first.setdefault(need, run)
        counts[need] += 1
    return [(run, counts[need]) for need, run in first.items()]


def queue_of(run: AnyRun) -> str:
    """Return the partition, account and QOS of the run's jobs: a cluster may limit the number of jobs of each."""
    need = run.resources
    return "/".join(name or "" for name in (need.partition, need.account, need.qos)) if need.kind == "slurm" else ""
