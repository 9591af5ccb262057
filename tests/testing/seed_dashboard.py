"""Seed a database: an experiment with runs in all states, a run that trains, a run that failed."""

import math
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from contract.folder.events import Points
from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.rank_times import COLUMNS
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from contract.metric_names import (
    BATCH,
    CHECKPOINT_BYTES,
    CHECKPOINT_STALL_S,
    CHECKPOINT_WRITE_S,
    COMMUNICATION_S,
    COMPUTE_S,
    EPOCH,
    HELDOUT_ACCURACY,
    HELDOUT_LOSS,
    IDLE_S,
    INPUT_S,
    LEARNING_RATE,
    LOSS,
    PEAK_MEMORY_BYTES,
    SAMPLES_PER_S,
    SLOWEST_RANK,
    TIME_PARTS,
    UPDATE_S,
)
from contract.spec.expanded import Expanded, read_experiment
from store.lifecycle import creation
from store.metrics import points
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Job, Move, Restart, Run
from tests.testing.seed_clusters import report_clusters
from tests.testing.specs import changed
from tests.testing.stored_runs import add_job, current_job, end_attempt
from tests.testing.stored_runs import move as move_row

SAMPLES = 16_384
TRACE = """Traceback (most recent call last):
  File "trainers/training/loop.py", line 104, in take
    raise Diverged(self._why(loss, rate, at))
FloatingPointError: loss is nan at step 115, with a learning rate of 40; the first is layer3.0.conv1 (Conv2d)
"""
WAYS = {
    State.QUEUED: [],
    State.SUBMITTING: [State.SUBMITTING],
    State.PENDING: [State.SUBMITTING, State.PENDING],
    State.RUNNING: [State.SUBMITTING, State.PENDING, State.RUNNING],
    State.DONE: [State.SUBMITTING, State.PENDING, State.RUNNING, State.DONE],
    State.FAILED: [State.SUBMITTING, State.PENDING, State.RUNNING, State.FAILED],
    State.CANCELLED: [State.CANCELLED],
}


def spec(name: str, *, epochs: int = 30, axes: dict[str, list[Any]] | None = None, **base: Any) -> Expanded:
    """Return the spec of a small experiment on synthetic images."""
    run = {
        "data": {"kind": "synthetic", "train_samples": SAMPLES, "heldout_samples": 2048},
        "optimizer": {"kind": "lars", "weight_decay": 0.0001},
        "schedule": {"kind": "polynomial", "rate": 1.6, "warmup_epochs": 3.0},
        "batch": 512,
        "epochs": epochs,
        "collective": {"kind": "torus", "rows": 2},
        "resources": {"kind": "slurm", "partition": "cpu", "nodes": 4, "ranks_per_node": 2},
        **base,
    }
    return read_experiment({"name": name, "base": run, "axes": axes or {}})


def measure(run: Run, first: int, last: int) -> Iterator[Points]:
    """Yield the points of a run from step `first` to `last`, always the same values."""
    batch, total = run.spec["batch"], run.steps
    rate, per_epoch = run.spec["schedule"]["rate"], max(1, SAMPLES // batch)
    warmup = run.spec["schedule"]["warmup_epochs"] * per_epoch
    fit = math.exp(-((math.log2(rate / 1.6 * 512 / batch)) ** 2) / 6)  # rates that suit their batch learn best
    dice = random.Random(run.id * 100_003 + first)
    for step in range(first, last + 1):
        done = step / total
        learned = 1 - math.exp(-6 * done * (0.35 + fit))
        loss = 2.3 * (1 - learned * (0.82 + 0.14 * fit)) * math.exp(dice.gauss(0, 0.05))
        compute = 0.0003 * batch / 8 + abs(dice.gauss(0, 0.0012))
        update = 0.003 + abs(dice.gauss(0, 0.0001))
        wire = 0.011 + abs(dice.gauss(0, 0.003)) + (0.02 if dice.random() < 0.01 else 0)
        wait = 0.0016 + abs(dice.gauss(0, 0.0006))
        idle = 0.002 + abs(dice.gauss(0, 0.002))
        rise = min(1.0, step / warmup) if warmup else 1.0
        values: dict[str, float | None] = {
            LOSS: None if 0.5 < done < 0.51 and run.number == 11 else loss,
            LEARNING_RATE: rate * rise * (1 - done) ** 2,
            SAMPLES_PER_S: batch / (compute + update + wire + wait + idle),
            COMPUTE_S: compute,
            UPDATE_S: update,
            COMMUNICATION_S: wire,
            INPUT_S: wait,
            IDLE_S: idle,
            SLOWEST_RANK: 5 if dice.random() < 0.7 else dice.randrange(8),
        }
        if step % per_epoch == 0:
            accuracy = 0.1 + (0.84 + 0.05 * fit) * learned**1.3 + dice.gauss(0, 0.004)
            values |= {EPOCH: step / per_epoch, HELDOUT_LOSS: loss * 1.06, HELDOUT_ACCURACY: min(accuracy, 0.999)}
            values |= {BATCH: batch, PEAK_MEMORY_BYTES: 1.4e9}
        yield Points(attempt=1, at=0.0, step=step, values=values)


def grow(db: Session, run: Run, to: int) -> None:
    """Store the steps of `run` up to `to`."""
    events = list(measure(run, run.step + 1, to))
    points.put(db, run.id, events)
    latest = dict(run.latest)
    for event in events:
        latest |= event.values
    db.execute(update(Run).where(Run.id == run.id).values(step=to, latest=latest))
    db.refresh(run)


def bring_to(db: Session, run: Run, state: State, *, share: float = 1.0, reason: str | None = None) -> None:
    """Move `run` to `state` through the legal transitions, with `share` of its steps taken."""
    at = now() - timedelta(minutes=50)
    for state_on_the_way in WAYS[state]:
        last = state_on_the_way is state
        move_row(db, run, state_on_the_way, reason if last else None)
    db.refresh(run)
    if run.started_at:
        grow(db, run, max(1, int(run.steps * share)))
    _age(db, run, at, ended=state is not State.RUNNING)


def _age(db: Session, run: Run, created: datetime, *, ended: bool) -> None:
    """Set the times of the run's transitions, spread over the past."""
    gaps = (0, 2, 3, 41, 60 + run.step * 0.6)
    moves = db.query(Move).where(Move.run_id == run.id).order_by(Move.id).all()
    at = created + timedelta(seconds=7 * run.number)
    times: dict[str, datetime] = {"created_at": at}
    for move, gap in zip(moves, gaps, strict=False):
        at += timedelta(seconds=gap)
        move.at = at
        if move.new == State.RUNNING:
            times["started_at"] = at
    if ended and run.ended_at:
        times["ended_at"] = at
    begun = times.get("started_at")
    ran_s = (at - begun).total_seconds() if begun and "ended_at" in times else None
    db.execute(update(Run).where(Run.id == run.id).values(**times, moved_at=at, ran_s=ran_s))
    db.execute(update(Job).where(Job.id == run.current_job_id).values(started_at=begun, ran_s=ran_s))
    db.refresh(run)


def write_log(root: Path, run: Run, lines: int) -> None:
    folder = RunFolder.of(root, run.id, run.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    steps = [f"[rank 0] epoch {n // 32 + 1:3d}  step {n:5d}  loss {2.3 * 0.995**n:.4f}" for n in range(1, lines + 1)]
    folder.log.write_text("\n".join([f"world {run.world}, gloo, torus 2 x {run.world // 2}", *steps]) + "\n")


def _write_checkpoints(root: Path, run: Run) -> None:
    """Write two checkpoints, the newer one without its manifest: its save goes on."""
    for step, files in ((run.step - 200, ("shared.pt", "manifest.json")), (run.step - 20, ("shared.pt",))):
        folder = RunFolder.of(root, run.id, run.key).checkpoints / f"step-{step:010}-attempt-{run.attempt}"
        folder.mkdir(parents=True)
        for name in files:
            (folder / name).write_bytes(b"0" * 4096)


def write_times(root: Path, run: Run) -> None:
    """Write the step times of all ranks; rank 5 is the slowest rank."""
    compute_s = [0.021, 0.0205, 0.0212, 0.0208, 0.0215, 0.027, 0.0209, 0.0211]
    late_s = max(compute_s)
    rows = []
    for rank, own_s in enumerate(compute_s):
        parts = {COMPUTE_S: own_s, COMMUNICATION_S: 0.011, IDLE_S: late_s - own_s}
        rows.append([run.attempt, run.step - 30, run.step, rank, *(parts.get(name, 0.0016) for name in TIME_PARTS)])
    lines = [",".join(map(str, row)) for row in [COLUMNS, *rows]]
    RunFolder.of(root, run.id, run.key).times.write_text("\n".join(lines) + "\n")


def seed(engine: Engine, root: Path) -> dict[str, int]:
    """Fill an empty, migrated database; return the ids of the rows that tests use."""
    with transaction(engine) as db:
        for name in ("digits baseline", "ring or torus, 16 ranks", "warm-up length at batch 1024"):
            axes = {"collective.kind": ["native", "ring"]} if "ring" in name else {}
            base = {"collective": {"kind": "native"}}
            for run in _created(db, spec(name, epochs=10, axes=axes, **base))[1]:
                bring_to(db, run, State.DONE)
        grid = _seed_grid(db, root)
        failed = _seed_failed(db, root)
        experiment, (growing,) = _created(db, spec("torus on four nodes", epochs=60, batch=256))
        bring_to(db, growing, State.RUNNING, share=0.2)
        _seed_checkpoints(db, growing)
        write_log(root, growing, 400)
        write_times(root, growing)
        _write_checkpoints(root, growing)
        db.query(Experiment).where(Experiment.id == experiment).one().created_at = now() - timedelta(minutes=12)
        pending = db.scalars(select(Run).where(Run.state == State.PENDING)).first()
        report_clusters(db, current_job(db, growing), current_job(db, pending) if pending else None)
        return {"grid": grid, "failed": failed, "growing": growing.id, "growing_experiment": experiment}


def _created(db: Session, spec: Expanded) -> tuple[int, list[Run]]:
    experiment, ids = creation.create(db, spec)
    db.query(Experiment).where(Experiment.id == experiment).one().created_at = now() - timedelta(minutes=50)
    return experiment, [db.get_one(Run, id_) for id_ in ids]


def _seed_grid(db: Session, root: Path) -> int:
    axes: dict[str, list[Any]] = {"schedule.rate": [0.4, 0.8, 1.6, 3.2], "batch": [256, 512, 1024]}
    grid = spec("learning rate against batch size", axes=axes)
    grid = changed(grid, description="Does the best rate grow with the batch? LARS, 2D torus, 8 ranks.")
    experiment, created = _created(db, grid)
    ends = [State.DONE] * 6 + [State.RUNNING, State.PENDING, State.FAILED, State.SUBMITTING, State.CANCELLED]
    for run, state in zip(created, ends, strict=False):
        reason = "rank 5 on cpu-3: RuntimeError: loss is not a number" if state is State.FAILED else None
        reason = "stopped on request" if state is State.CANCELLED else reason
        bring_to(db, run, state, share=0.6 if state in (State.RUNNING, State.FAILED) else 1.0, reason=reason)
        write_log(root, run, min(run.step, 300))
    return experiment


def _seed_failed(db: Session, root: Path) -> int:
    _, (run,) = _created(db, spec("a rate too far", schedule={"kind": "constant", "rate": 40.0}))
    bring_to(db, run, State.FAILED, share=0.12, reason="rank 2 on cpu-2: FloatingPointError: loss is nan at step 115")
    write_log(root, run, 115)
    end_attempt(db, run, ExitCause.FAILURE, "rank 2 on cpu-2: FloatingPointError: loss is nan at step 115")
    _write_rank_failures(RunFolder.of(root, run.id, run.key))
    return run.id


def _write_rank_failures(folder: RunFolder) -> None:
    """Record that rank 2 failed with a NaN loss and that the other ranks lost its connection."""
    (folder.path / "attempts").mkdir()
    folder.write_roster(1, RankRoster(hosts=[f"cpu-{rank // 2 + 1}" for rank in range(8)], ahead_s=[0.0] * 8))
    reason = "rank 2 on cpu-2: FloatingPointError: loss is nan at step 115"
    folder.write_rank_failure(1, RankFailure(at=1000.0, rank=2, host="cpu-2", reason=reason, trace=TRACE))
    for rank in (0, 1, 3, 4, 5, 6, 7):
        waited = f"rank {rank} waited in round {rank % 3} of the collective"
        note = f"rank {rank} on cpu-{rank // 2 + 1}: rank 2 died: {waited}"
        at = 1000.0 + rank / 300
        failure = RankFailure(at=at, rank=rank, host="", reason=note, echo=True, round=rank % 3, lost=[2])
        folder.write_rank_failure(1, failure)


def _seed_checkpoints(db: Session, run: Run) -> None:
    """Store three interruptions and the checkpoint times of a run."""
    for number, lost in enumerate((31, 4, 12), start=1):
        step = run.step // (5 - number)
        job = end_attempt(db, run, ExitCause.NODE_FAILURE, "a node of the job failed")
        job.hosts, job.exit_step = ["cpu-3"], step + lost
        add_job(db, run, external_id=str(4_200 + run.id + number))
        db.add(Restart(run_id=run.id, attempt=number + 1, step=step, lost_steps=lost, at=now()))
    costs: dict[str, float | None] = {CHECKPOINT_STALL_S: 0.84, CHECKPOINT_WRITE_S: 3.1, CHECKPOINT_BYTES: 2.05e8}
    points.put(db, run.id, [Points(attempt=1, at=0.0, step=step, values=costs) for step in range(1, run.step, 40)])
