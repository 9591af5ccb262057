"""Many stored runs of several kinds, inserted in bulk: what the table of runs is tried and measured on."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any

from sqlalchemy import Engine, insert, update
from sqlalchemy.orm import Session

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from store.run_table.spec_fields import add_experiment_fields, add_run_fields, base_of
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment, ExperimentTag
from store.tables.points import Figure
from store.tables.runs import Job, Run, RunTag
from tests.testing.seed_dashboard import spec

OWNERS = ("ada", "grace", "edsger", "")
OPTIMIZERS = ("lars", "lamb", "sgd", "adam")
METRICS = (
    *("loss", "heldout_accuracy", "heldout_loss", "learning_rate", "samples_per_s", "compute_s", "update_s"),
    *("communication_s", "input_s", "idle_s", "slowest_rank", "epoch", "batch", "trained_s", "peak_memory_bytes"),
)
ENDS = {State.DONE: 0.9, State.FAILED: 0.06, State.CANCELLED: 0.04}
CAUSES = {State.DONE: ExitCause.DONE, State.FAILED: ExitCause.OUT_OF_MEMORY, State.CANCELLED: ExitCause.CANCELLED}


def add_runs(engine: Engine, experiments: int, runs_each: int, *, seed: int = 0) -> None:
    """Insert ended runs: sweeps over the batch and the rate, of several owners, optimizers and sizes."""
    dice = random.Random(seed)
    for number in range(experiments):
        with transaction(engine) as db:
            _add_experiment(db, dice, number, runs_each)


def _add_experiment(db: Session, dice: random.Random, number: int, runs_each: int) -> None:
    optimizer = OPTIMIZERS[number % len(OPTIMIZERS)]
    document = spec(f"{optimizer} sweep {number}", optimizer={"kind": optimizer}).spec.model_dump(mode="json")
    created = now() - timedelta(minutes=7 * (1000 - number))
    experiment = Experiment(
        name=document["name"],
        spec=document,
        max_parallel=None,
        pack=None,
        owner=OWNERS[number % len(OWNERS)],
        project="vision" if number % 3 else "",
        created_at=created,
    )
    db.add(experiment)
    db.flush()
    add_experiment_fields(db, experiment)
    if number % 5 == 0:
        db.execute(insert(ExperimentTag), [{"experiment_id": experiment.id, "tag": "baseline"}])
    rows = [_row(dice, experiment, document["base"], place, created) for place in range(runs_each)]
    ids = list(db.scalars(insert(Run).returning(Run.id, sort_by_parameter_order=True), rows))
    base = base_of(experiment)
    add_run_fields(db, base, {run_id: row["spec"] for run_id, row in zip(ids, rows, strict=True)})
    _add_jobs(db, ids, rows)
    _add_figures(db, dice, ids, rows)
    tagged = [{"run_id": run_id, "tag": "lars"} for run_id in ids[::7]]
    db.execute(insert(RunTag), tagged)


def _row(
    dice: random.Random, experiment: Experiment, base: dict[str, Any], place: int, created: datetime
) -> dict[str, Any]:
    values = {"batch": 2 ** (6 + place % 8), "schedule.rate": round(0.1 * (1 + place // 8), 3)}
    one = base | {"batch": values["batch"], "schedule": base["schedule"] | {"rate": values["schedule.rate"]}}
    (state,) = dice.choices(list(ENDS), weights=list(ENDS.values()))
    started = created + timedelta(seconds=dice.randrange(5, 600))
    ended = started + timedelta(seconds=dice.randrange(30, 20_000))
    latest = {name: dice.random() for name in METRICS}
    return {
        "experiment_id": experiment.id,
        "number": place,
        "key": token_hex(6),
        "spec": one,
        "values": values,
        "cluster": "slurm",
        "world": 2 ** (place % 5),
        "steps": 960,
        "step": 960 if state is State.DONE else dice.randrange(960),
        "state": state,
        "attempt": 1,
        "latest": latest,
        "objective_value": latest["heldout_accuracy"],
        "created_at": created,
        "moved_at": ended,
        "started_at": started,
        "ended_at": ended,
        "ran_s": (ended - started).total_seconds(),
    }


def _add_jobs(db: Session, ids: Sequence[int], rows: Sequence[dict[str, Any]]) -> None:
    jobs = [
        {
            **{"run_id": run_id, "attempt": 1, "name": f"bigbatch-{run_id:06d}-1", "cluster": "slurm"},
            **{
                "is_gone": True,
                "started_at": row["started_at"],
                "ended_at": row["ended_at"],
                "ran_s": row["ran_s"],
                "exit_cause": CAUSES[row["state"]],
                "exit_step": row["step"],
            },
        }
        for run_id, row in zip(ids, rows, strict=True)
    ]
    job_ids = list(db.scalars(insert(Job).returning(Job.id, sort_by_parameter_order=True), jobs))
    current = [{"id": run_id, "current_job_id": job_id} for run_id, job_id in zip(ids, job_ids, strict=True)]
    db.execute(update(Run), current)


def _add_figures(db: Session, dice: random.Random, ids: Sequence[int], rows: Sequence[dict[str, Any]]) -> None:
    figures = []
    for run_id, row in zip(ids, rows, strict=True):
        for name, last in row["latest"].items():
            spread = dice.random()
            bounds = {"least": last - spread, "most": last + spread, "mean": last}
            figures.append(
                {"name": name, "run_id": run_id, "last_step": row["step"], "last": last, "size": 960} | bounds
            )
    db.execute(insert(Figure), figures)
