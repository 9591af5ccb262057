"""The Celery application, made as workers and beat make it at their start."""

import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from contract.lifecycle.state import State
from contract.refusal import REFUSED
from contract.settings import Settings
from scheduler.app import TICKS, _context, _watched, make_app
from scheduler.celery_app import PERIODS_S
from scheduler.context import Context
from scheduler.shutdown import shut_down
from store.session import snapshot, transaction
from store.tables.runs import Run
from store.tables.service import Tick
from tests.testing.runs import start_job


def test_every_tick_of_the_beat_is_a_task_of_the_workers(tmp_path: Path) -> None:
    app = make_app(Settings(home=tmp_path, slurm=False))
    wanted = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert wanted == {f"bigbatch.{name}" for name in TICKS}
    assert set(TICKS) == set(PERIODS_S)
    assert wanted <= app.tasks.keys()


def test_without_local_runs_the_service_has_slurm_alone_and_ends_no_local_job(
    context: Context, run_ids: list[int], tmp_path: Path
) -> None:
    """Forces the fault: the setting changes while a local run of an earlier worker is live."""
    with transaction(context.engine) as db:
        start_job(db, run_ids[0])
    alone = Context.of(Settings(home=tmp_path, local=False, slurm=True))
    assert [*alone.clusters] == ["slurm"]
    shut_down(replace(context, clusters=alone.clusters))
    with snapshot(context.engine) as db:
        assert db.get_one(Run, run_ids[0]).state is State.RUNNING


@pytest.mark.ring("all")
def test_a_worker_without_any_cluster_does_not_start(tmp_path: Path) -> None:
    environment = {"BIGBATCH_HOME": str(tmp_path), "BIGBATCH_LOCAL": "false", "BIGBATCH_SLURM": "false"}
    command = [sys.executable, "-m", "scheduler", "worker"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == REFUSED
    assert done.stderr.startswith("BIGBATCH_LOCAL is false and there is no Slurm")


def test_a_success_of_a_tick_is_stored_and_a_failure_is_not(context: Context) -> None:
    """Forces the fault: the tick raises, as it would while the database refuses what it stores."""
    faults = [ValueError("no")]

    def tick(_: Context) -> None:
        if faults:
            raise faults.pop()

    run = _watched("ingest", tick, 1.0)
    with pytest.raises(ValueError, match="no"):
        run(context)
    with snapshot(context.engine) as db:
        assert db.get(Tick, "ingest") is None
    run(context)
    with snapshot(context.engine) as db:
        first = db.get_one(Tick, "ingest").succeeded_at
    run(context)
    with snapshot(context.engine) as db:
        assert db.get_one(Tick, "ingest").succeeded_at == first, "not stored twice in ten seconds"
    context.memory.success_stored_at.clear()
    run(context)
    with snapshot(context.engine) as db:
        row = db.get_one(Tick, "ingest")
        assert row.succeeded_at > first
        assert (row.runs, row.failures) == (3, 1), "what was counted in between is stored with the next success"
        assert row.seconds > 0


def test_the_first_ticks_of_a_worker_share_one_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the race: all ticks of a new worker start while its context is made."""
    contexts, of = list[Context](), Context.of

    def slowly(settings: Settings) -> Context:
        time.sleep(0.3)
        return of(settings)

    monkeypatch.setattr(Context, "of", slowly)
    context_of_worker = _context(Settings(home=tmp_path, slurm=False))
    ticks = [threading.Thread(target=lambda: contexts.append(context_of_worker())) for _ in TICKS]
    for tick in ticks:
        tick.start()
    for tick in ticks:
        tick.join()
    assert (len(contexts), len({id(context) for context in contexts})) == (len(TICKS), 1)


@pytest.mark.ring("all")
def test_the_clock_does_without_the_code_of_the_ticks() -> None:
    """It runs all the time beside the worker, and is smaller by a fifth so."""
    program = "import sys, scheduler.__main__; print([name for name in sys.modules if name.startswith('scheduler.')])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "scheduler.clock" in loaded
    assert "scheduler.ticks" not in loaded
