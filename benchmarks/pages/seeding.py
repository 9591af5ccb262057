"""The rows that the pages show: long curves, 30,000 runs, 500 runs to compare, a large workflow, runs that train."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from benchmarks.run_table import analyze
from benchmarks.workflow.ticks import document as workflow_document
from contract.folder.events import Points as PointsEvent
from contract.lifecycle.state import State
from contract.spec.expanded import Expanded, read_experiment
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.lifecycle import creation
from store.metrics import points
from store.metrics.chunks import write_points
from store.metrics.figures import update_figures
from store.metrics.packing import Points
from store.metrics.series import ids_of
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Run
from tests.testing.seed_dashboard import spec
from tests.testing.seed_table import add_runs
from tests.testing.stored_runs import TO_RUNNING, move

CURVES, POINTS = 50, 100_000
OTHERS, LARGE = (200, 100), 10_000  # experiments and runs of each; runs of the large one
COMPARED, COMPARED_POINTS = 500, 2_000
WORKFLOW_RUNS = 10_000
LIVE = 8
HAS_CURVE = 200  # runs of the large experiment: as many as a page overlays
NEEDED = {  # the rows of a part, if not its own
    "table": ("many",),
    "large": ("many",),
    "compare": ("compared",),
    "tasks": ("many", "compared"),
}


class Seeded:
    """The rows of a database that the parts of the benchmark need; they are added when a part asks for them."""

    def __init__(self, engine: Engine, record: Path) -> None:
        """`record`: the file that names what a database has."""
        self._engine, self._record = engine, record
        self._ids: dict[str, int] = json.loads(record.read_text()) if record.exists() else {}

    def prepare(self, part: str) -> None:
        """Add the rows of a part of the benchmark that the database has not."""
        makers = {"many": _many, "curves": _curves, "compared": _compared, "workflow": _workflow, "live": _live}
        for rows in NEEDED.get(part, (part,)):
            if rows in self._ids:
                continue
            self._ids |= makers[rows](self._engine)
            analyze(self._engine)
            self._record.write_text(json.dumps(self._ids))

    def ids(self, name: str) -> int:
        """Return the id of an experiment, or of a run."""
        return self._ids[name]


def grow(engine: Engine, experiment_id: int, steps: int) -> None:
    """Let each run of the live experiment take so many steps more, in one transaction as of a tick."""
    with transaction(engine) as db:
        for run in db.query(Run).where(Run.experiment_id == experiment_id):
            new = range(run.step + 1, run.step + 1 + steps)
            events = [PointsEvent(attempt=1, at=0.0, step=step, values=_values(step)) for step in new]
            points.put(db, run.id, events)
            db.execute(update(Run).where(Run.id == run.id).values(step=new[-1], latest=events[-1].values))


def _values(step: int) -> dict[str, float | None]:
    return {"loss": 3.0 * step**-0.2, "learning_rate": 0.1}


def _many(engine: Engine) -> dict[str, int]:
    """Store 20,000 runs of other experiments and the large one, whose first runs have short curves."""
    add_runs(engine, *OTHERS)
    add_runs(engine, 1, LARGE, seed=1)
    with transaction(engine) as db:
        large = db.scalars(select(Experiment.id).order_by(Experiment.id.desc())).first() or 0
        found = select(Run.id).where(Run.experiment_id == large).order_by(Run.number).limit(HAS_CURVE)
        ids = list(db.scalars(found))
        for run_id in ids:
            values: dict[str, float | None] = {"heldout_accuracy": 0.5, "loss": 1.0}
            events = [PointsEvent(attempt=1, at=0.0, step=9 * step, values=values) for step in range(1, 101)]
            points.put(db, run_id, events)
    return {"many": large, "large": large, "run": ids[0]}


def _curves(engine: Engine) -> dict[str, int]:
    document = spec("long curves", axes={"seed": list(range(CURVES))})
    return {"curves": _with_losses(engine, document, POINTS)}


def _compared(engine: Engine) -> dict[str, int]:
    axes: dict[str, list[Any]] = {
        "batch": [64, 128, 256, 512, 1024],
        "schedule.rate": [0.4, 0.8, 1.6, 3.2],
        "seed": list(range(25)),
    }
    return {"compared": _with_losses(engine, spec("compared runs", axes=axes), COMPARED_POINTS)}


def _with_losses(engine: Engine, document: Expanded, count: int) -> int:
    """Store ended runs with a noisy loss of so many points each."""
    with transaction(engine) as db:
        experiment_id, ids = creation.create(db, document)
        known = ids_of(db, [(run_id, "loss") for run_id in ids], ids)
        for run_id in ids:
            _end(db, run_id, count)
    steps = np.arange(1, count + 1)
    for run_id in ids:
        noise = np.random.default_rng(run_id).standard_normal(count)
        found = Points(steps, (3.0 * steps**-0.2 + 0.05 * noise).astype(np.float32).astype(np.float64))
        with transaction(engine) as db:
            write_points(db, {known[run_id, "loss"]: found})
            update_figures(db, {(run_id, "loss"): found})
    return experiment_id


def _end(db: Session, run_id: int, steps: int) -> None:
    began = now() - timedelta(hours=3)
    ended = {"state": State.DONE, "step": steps, "steps": steps, "latest": {"loss": 0.3}, "attempt": 1}
    times = {"started_at": began, "ended_at": now() - timedelta(hours=1)}
    db.execute(update(Run).where(Run.id == run_id).values(**ended, **times))


def _workflow(engine: Engine) -> dict[str, int]:
    """Store the workflow of 10,000 runs with half of its steps ended, as its planner leaves it."""
    context = Context(engine, {"local": Local()}, Path("/nonexistent"), local_ranks=2)
    with transaction(engine) as db:
        experiment_id, _ = creation.create(db, read_experiment(workflow_document()))
    own = Run.experiment_id == experiment_id
    while True:
        plan(context)
        with transaction(engine) as db:
            ids = list(db.scalars(select(Run.id).where(own)))
            if len(ids) > WORKFLOW_RUNS // 2:
                return {"workflow": experiment_id}
            times = {"started_at": now() - timedelta(minutes=3), "ended_at": now(), "state": State.DONE, "attempt": 1}
            db.execute(update(Run).where(own, Run.state == State.QUEUED).values(**times))


def _live(engine: Engine) -> dict[str, int]:
    document = spec("live runs", epochs=100_000, axes={"seed": list(range(LIVE))})
    with transaction(engine) as db:
        experiment_id, ids = creation.create(db, document)
        for run_id in ids:
            for state in TO_RUNNING:
                move(db, db.get_one(Run, run_id), state)
    return {"live": experiment_id}
