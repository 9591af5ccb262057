"""Extreme rows: a run preempted 60 times on many ranks, a sweep in which one run diverged, a cluster of 1,500 nodes."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from contract.api.cluster_report import ClusterReport, Node, QueuedJob
from contract.folder.events import Points
from contract.folder.rank_times import COLUMNS
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.state import State
from contract.metric_names import COMPUTE_S, EPOCH, HELDOUT_ACCURACY, IDLE_S, LOSS, TIME_PARTS
from store import clusters
from store.session import transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Move, Restart, Run
from tests.testing.seed_answers import create, store_points
from tests.testing.seed_dashboard import spec
from tests.testing.stored_runs import end_attempt, move

PREEMPTIONS, RANKS, SLOW_RANK, NODES, CURVES = 60, 1024, 700, 1500, 12
PARTS: dict[str, float | None] = dict.fromkeys(TIME_PARTS, 0.006)
TO_RUN = (State.SUBMITTING, State.PENDING, State.RUNNING)


def seed_extremes(engine: Engine, root: Path) -> dict[str, int]:
    """Store them; return the ids that tests use."""
    with transaction(engine) as db:
        preempted = _seed_preempted(db, root)
        diverged = _seed_diverged(db)
        _report_large_cluster(db)
        return {"preempted": preempted, "diverged_sweep": diverged}


def _seed_preempted(db: Session, root: Path) -> int:
    """Let a run train for two minutes and wait for half a minute, sixty times."""
    wide = {"kind": "slurm", "partition": "cpu", "nodes": 128, "ranks_per_node": 8}
    _, (run,) = create(db, spec("preempted again and again", batch=8192, resources=wide))
    store_points(
        db, run, [Points(attempt=1, at=0.0, step=step, values={LOSS: 1 / step, **PARTS}) for step in range(1, 61)]
    )
    for number in range(1, PREEMPTIONS + 1):
        job = end_attempt(db, run, ExitCause.PREEMPTED, "another job preempted the job")
        job.exit_step = number
        move(db, run, State.PAUSED, "another job preempted the job")
        move(db, run, State.QUEUED)
        for state in TO_RUN:
            move(db, run, state)
        db.add(Restart(run_id=run.id, attempt=number + 1, step=number, lost_steps=1, at=now()))
    at = now() - timedelta(hours=3)
    for entry in db.query(Move).where(Move.run_id == run.id).order_by(Move.id):
        entry.at = at
        at += timedelta(seconds=120 if entry.new is State.RUNNING else 10)
    _write_many_ranks(RunFolder.of(root, run.id, run.key), run)
    return run.id


def _write_many_ranks(folder: RunFolder, run: Run) -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    rows: list[Sequence[object]] = [COLUMNS]
    for rank in range(RANKS):
        own_s = 0.03 if rank == SLOW_RANK else 0.02
        parts = {COMPUTE_S: own_s, IDLE_S: 0.03 - own_s}
        rows.append([run.attempt, 30, 60, rank, *(parts.get(name, 0.0) for name in TIME_PARTS)])
    folder.times.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")


def _seed_diverged(db: Session) -> int:
    """Store curves of which one grows to 10^9, and accuracies that all end near 98 %."""
    rates = [round(0.1 + 0.01 * number, 2) for number in range(CURVES)]
    experiment, runs = create(db, spec("one of twelve diverged", epochs=4, axes={"schedule.rate": rates}))
    for run in runs:
        is_far = run.number == CURVES - 1
        losses = [10.0 ** (step / 11) if is_far else 2.3 / step for step in range(1, 101)]
        events = [Points(attempt=1, at=0.0, step=step, values={LOSS: loss}) for step, loss in enumerate(losses, 1)]
        accuracies = [0.1, 0.6, 0.9, *(0.97 + 0.001 * run.number + 0.0005 * part for part in range(7))]
        events += [
            Points(attempt=1, at=0.0, step=10 * part, values={HELDOUT_ACCURACY: accuracy, EPOCH: part * 0.4})
            for part, accuracy in enumerate(accuracies, 1)
        ]
        store_points(db, run, events)
        move(db, run, State.DONE)
    return experiment


def _report_large_cluster(db: Session) -> None:
    """Replace the report of the Slurm cluster by one of many nodes and jobs."""
    partition = clusters.reports(db)
    report = next(ClusterReport.model_validate(row.report) for row in partition if row.kind == "slurm")
    like, job = report.nodes[0], report.queue[0]
    nodes = [Node.model_validate({**like.model_dump(), "name": f"n{number:04d}"}) for number in range(NODES)]
    queue = [QueuedJob.model_validate({**job.model_dump(), "job_id": str(9000 + number)}) for number in range(400)]
    clusters.store_report(db, "slurm", report.model_copy(update={"nodes": nodes, "queue": queue}), None)
    db.execute(update(Cluster).values(asked_at=now() + timedelta(hours=2)))
