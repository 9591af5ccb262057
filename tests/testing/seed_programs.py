"""Seed a database with runs of programs: a sweep with labels, whose runs are done, train, failed and were stopped."""

import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from contract.folder.events import Points
from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.state import State
from contract.spec.expanded import Expanded, read_experiment
from store.lifecycle import creation
from store.metrics import points
from store.session import transaction
from store.tables.runs import Run
from tests.testing.stored_runs import TO_RUNNING, end_attempt, move

RATES = (0.05, 0.1, 0.2, 0.4)
TRACE = """Traceback (most recent call last):
  File "/home/ada/vision/train.py", line 88, in <module>
    main()
  File "/home/ada/vision/train.py", line 61, in main
    raise ValueError("loss is not finite at step 90")
ValueError: loss is not finite at step 90
"""
LONG_NAME = ("a_very_long_name_of_a_metric_" * 7)[:196]
NOTES = """Does the rate of **LARS** carry over to our own script?

- warm-up of 3 epochs, see `train.py`
- compare with [the paper](https://arxiv.org/abs/1708.03888)
"""


def program(**changes: Any) -> dict[str, Any]:
    """Return the spec of a run of a program on four ranks."""
    return {
        "kind": "program",
        "command": "python train.py --lr {lr} --model {model} --out {run_folder}",
        "launcher": "torchrun",
        "resources": {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2},
        "environment": {
            "venv": "/home/ada/venvs/torch",
            "modules": ["cuda/12.4"],
            "variables": {"OMP_NUM_THREADS": "4", "NCCL_DEBUG": "WARN"},
            "setup": ["ulimit -n 4096"],
        },
        "working_folder": "/home/ada/vision",
        "parameters": {"lr": 0.1, "model": "resnet18", "data": {"size": 224, "workers": 4}},
        "steps": 400,
        **changes,
    }


def sweep(name: str, rates: tuple[float, ...] = RATES, **changes: Any) -> Expanded:
    """Return an experiment that varies the learning rate of a program."""
    labels = {"owner": "ada", "project": "vision", "tags": ["baseline", "own-script"], "notes": NOTES}
    axes = {"parameters.lr": list(rates)}
    return read_experiment({"name": name, **labels, "base": program(**changes), "axes": axes})


def seed_programs(engine: Engine, root: Path) -> dict[str, int]:
    """Store a sweep and a run of an unknown number of steps; return the ids that tests use."""
    with transaction(engine) as db:
        open_end, (unknown,) = creation.create(db, sweep("until the loss is flat", (0.1,), steps=0))
        _advance(db, db.get_one(Run, unknown), 180)
        long, (named,) = creation.create(db, sweep("a long name", (0.1,), steps=0))
        _advance(db, db.get_one(Run, named), 3, **{f"val/{LONG_NAME}": 0.5})
        experiment, ids = creation.create(db, sweep("rates of our own script"))
        done, running, failed, stopped = (db.get_one(Run, id_) for id_ in ids)
        _advance(db, done, 400)
        move(db, done, State.DONE)
        _advance(db, running, 240)
        _advance(db, failed, 90)
        _fail(db, failed, root)
        _advance(db, stopped, 120)
        move(db, stopped, State.CANCELLED, "stopped on request")
        end_attempt(db, stopped, ExitCause.CANCELLED, "stopped on request")
        for run in (done, running, stopped):
            _write_log(RunFolder.of(root, run.id, run.key), run)
        names = ("done_program", "program", "failed_program", "stopped_program")
        found = {"programs": experiment, "open_end": open_end, "open_end_run": unknown}
        found |= {"long_names": long, "long_named": named}
        return found | dict(zip(names, ids, strict=True))


def _advance(db: Session, run: Run, step: int, **more: float | None) -> None:
    """Start a run and store its points up to `step`, with `more` values at the last one."""
    for state in TO_RUNNING:
        move(db, run, state)
    events = [*_measure(run, step), *([Points(attempt=1, at=0.0, step=step, values={**more})] if more else [])]
    points.put(db, run.id, events)
    latest: dict[str, float | None] = {}
    for event in events:
        latest |= event.values
    db.execute(update(Run).where(Run.id == run.id).values(step=step, latest=latest))
    db.refresh(run)


def _measure(run: Run, last: int) -> Iterator[Points]:
    rate = run.spec["parameters"]["lr"]
    dice = random.Random(run.id)
    for step in range(1, last + 1):
        loss = 0.3 + 2 * math.exp(-step * rate / 30)
        values: dict[str, float | None] = {"train/loss": loss + dice.gauss(0, 0.05), "lr": rate * (1 - step / 800)}
        values |= {f"train/loss/rank-{rank}": loss + dice.gauss(0.02 * rank, 0.05) for rank in range(1, 4)}
        if step % 40 == 0:
            values["val/accuracy"] = 0.9 - 0.6 * math.exp(-step * rate / 25)
        yield Points(attempt=1, at=0.0, step=step, values=values)


def _fail(db: Session, run: Run, root: Path) -> None:
    """Let rank 2 exit with status 1, after which the launcher kills the other ranks."""
    reason = "rank 2 on gpu-2: ValueError: loss is not finite at step 90 (exit status 1)"
    move(db, run, State.FAILED, reason)
    end_attempt(db, run, ExitCause.FAILURE, reason)
    folder = RunFolder.of(root, run.id, run.key)
    _write_log(folder, run)
    (folder.path / "attempts").mkdir()
    folder.write_roster(1, RankRoster(hosts=[f"gpu-{rank // 2 + 1}" for rank in range(4)], ahead_s=[0.0] * 4))
    folder.write_rank_failure(1, RankFailure(at=1000.0, rank=2, host="gpu-2", reason=reason, trace=TRACE))
    for rank in (0, 1, 3):
        note = f"rank {rank} on gpu-{rank // 2 + 1}: signal 15 (SIGTERM)"
        failure: Mapping[str, Any] = {"rank": rank, "host": f"gpu-{rank // 2 + 1}", "reason": note, "lost": [2]}
        kind = FailureKind.SIGNAL
        folder.write_rank_failure(1, RankFailure(at=1000.5 + rank / 100, echo=True, kind=kind, **failure))


def _write_log(folder: RunFolder, run: Run) -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.log.write_text("".join(f"step {step} loss {2 / step:.4f}\n" for step in range(1, run.step + 1)))
