"""Runs of any experiment carried to their ends: accuracy and times depend on the values of the run as in training."""

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from contract.folder.events import Points
from contract.lifecycle.state import State
from contract.metric_names import (
    BATCH,
    COMMUNICATION_S,
    COMPUTE_S,
    EPOCH,
    HELDOUT_ACCURACY,
    IDLE_S,
    INPUT_S,
    LOSS,
    SAMPLES_PER_S,
    TRAINED_S,
    UPDATE_S,
)
from contract.spec.expanded import Expanded
from store.lifecycle import creation
from store.metrics import points
from store.tables.runs import Run
from tests.testing.stored_runs import TO_RUNNING, move

EVALUATIONS, STEPS = 12, 40  # so many of a run are stored; a paper's run would have thousands
COMMUNICATION = {"native": 0.008, "torus": 0.006, "ring": 0.009, "tree": 0.011, "server": 0.02}
QUALITY = {"lars": 0.984, "lamb": 0.982, "sgd": 0.975, "adamw": 0.979, "import": 0.95}  # of optimizers
SUITABLE_RATES = {"lars": 7 / 256, "sgd": 0.1 / 128}  # for each sample of the batch
EASGD = {"original": 0.022, "async": 0.006, "hogwild": 0.005, "sync1": 0.013, "sync2": 0.011, "sync3": 0.007}


def create(db: Session, spec: Expanded) -> tuple[int, list[Run]]:
    """Store the experiment; return its id and its queued runs."""
    experiment, ids = creation.create(db, spec)
    return experiment, [db.get_one(Run, id_) for id_ in ids]


def carry_out(db: Session, run: Run, *, end: State | None = State.DONE, reason: str | None = None) -> None:
    """Let a run train with plausible points, and end it; `end=None` leaves it running."""
    events = list(_of_program(run) if run.spec.get("kind") == "program" else _of_engine(run))
    store_points(db, run, events)
    if end is not None:
        move(db, run, end, reason)


def store_points(db: Session, run: Run, events: Sequence[Points]) -> None:
    """Start a run and store its points."""
    for state in TO_RUNNING:
        move(db, run, state)
    points.put(db, run.id, events)
    latest: dict[str, float | None] = {}
    for event in events:
        latest |= event.values
    last = max(event.step for event in events)
    db.execute(update(Run).where(Run.id == run.id).values(step=last, latest=latest))
    db.refresh(run)


def accuracy_of(run: Run) -> float:
    """Return the accuracy that a run ends with: a rate that suits the batch learns best, large batches learn less."""
    spec = run.spec
    rate, batch, kind = spec["schedule"]["rate"], spec["batch"], spec["optimizer"]["kind"]
    best = QUALITY[kind]
    if spec["schedule"].get("scaling"):
        return best - 0.006 * max(0.0, math.log2(batch / 128))
    if not {"schedule.rate", "batch"} <= run.values.keys():
        return best
    misfit = math.log2(rate / (SUITABLE_RATES[kind] * batch))
    return best - 0.002 * misfit**2 - 0.002 * max(0.0, math.log2(batch / 256))


def step_parts(spec: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds of the parts of a step, by collective, update rule and parts of a chip."""
    chip = (spec["resources"].get("many_core") or {}).get("parts", 1)
    collective = spec["collective"]
    wire = COMMUNICATION.get(collective["kind"], 0.01) / collective.get("servers", 1) ** 0.5
    wire = EASGD.get(spec["rule"].get("variant", ""), wire)
    return {COMPUTE_S: 0.02 / chip**0.7, UPDATE_S: 0.002, COMMUNICATION_S: wire, INPUT_S: 0.001, IDLE_S: 0.0008}


def _of_engine(run: Run) -> Iterator[Points]:
    spec, steps = run.spec, run.steps
    accuracy, parts = accuracy_of(run), step_parts(spec)
    step_s = sum(parts.values())
    dice = random.Random(json.dumps([spec["seed"], run.number]))
    accuracy += dice.gauss(0, 0.0008) if "seed" in run.values else 0.0
    for step in range(max(1, steps - STEPS + 1), steps + 1):
        values: dict[str, float | None] = {name: part * dice.uniform(0.95, 1.05) for name, part in parts.items()}
        values |= {LOSS: 0.1 + 1 / step, SAMPLES_PER_S: spec["batch"] / step_s}
        yield Points(attempt=1, at=0.0, step=step, values=values)
    count = min(EVALUATIONS, spec["epochs"])
    for number in range(1, count + 1):
        epoch = max(1, spec["epochs"] * number // count)
        step = max(1, steps * number // count)
        learned = accuracy * (1 - math.exp(-5 * number / count)) / (1 - math.exp(-5))
        known = {EPOCH: float(epoch), TRAINED_S: step * step_s, HELDOUT_ACCURACY: learned, BATCH: float(spec["batch"])}
        yield Points(attempt=1, at=0.0, step=step, values=known)


def _of_program(run: Run) -> Iterator[Points]:
    """Yield the metrics that the recipes' own scripts report."""
    command = str(run.spec["command"])
    rate = float(run.spec["parameters"].get("lr") or run.spec["parameters"].get("rate") or 0.1)
    for step in range(1, 41):
        loss = 0.2 + 2 * math.exp(-step * rate / 2)
        values: dict[str, float | None] = {"train/loss" if "trainer" in command else "loss": loss}
        if "pi" in command:
            values = {"error": 10.0**-step}
        if "least" in command:
            values |= {"slope": 3.0, "offset": -1.0}
        if "python ddp.py" in command and step % 10 == 0:
            values["accuracy"] = 0.97 - loss / 100
        yield Points(attempt=1, at=0.0, step=step, values=values)
