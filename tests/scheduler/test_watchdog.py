"""The watchdog: a worker with a tick that hangs ends, its log has the stacks, and its supervisor starts a new one."""

import os
import time
from pathlib import Path

import pytest

from bigbatch.service.environment import environment_of
from bigbatch.service.process import ServiceProcess
from migrations.commands import upgrade
from scheduler.context import Context, Memory
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.watchdog import AT_LEAST_S, EXIT_CODE, Watchdog, watched
from tests.testing.events import STARTED, report
from tests.testing.runs import read

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0  # a busy machine needs long to load Celery


@pytest.mark.ring("all")
@pytest.mark.parametrize(("how", "code"), [("sleep", EXIT_CODE), ("lock", 1)])
def test_a_worker_that_hangs_ends_and_is_started_again(tmp_path: Path, how: str, code: int) -> None:
    """Forces the fault: the tick waits for ever, or runs a regular expression that never ends."""
    upgrade(f"sqlite:///{tmp_path / 'bigbatch.db'}")
    variables = {**os.environ, "BIGBATCH_HOME": str(tmp_path), "BIGBATCH_SLURM": "false", "PYTHONPATH": str(ROOT)}
    environment = environment_of("worker", variables)
    log = tmp_path / "logs" / "worker.log"
    worker = ServiceProcess("worker", ["tests.testing.hung_worker", how], log=log, environment=environment)
    worker.start()
    try:
        until = time.monotonic() + LIMIT_S
        while worker.is_alive:
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        assert worker.code() == code, log.read_text()
        text = log.read_text()
        assert ("the tick launch has made no progress" in text) == (how == "sleep")
        assert "in hang" in text, "the stack of the thread that hangs"
        while not worker.is_alive:
            assert time.monotonic() < until
            worker.restart_if_ended()
            time.sleep(0.05)
    finally:
        worker.kill()


def test_a_tick_within_its_limit_does_not_hang() -> None:
    memory = Memory()
    watchdog = Watchdog.of(memory, {"launch": 0.5, "reap": 60.0})
    with watched(memory, "launch"), watched(memory, "reap"):
        for tick, limit_s in (("launch", AT_LEAST_S), ("reap", 600.0)):
            memory.moved_on_at[tick] -= limit_s - 5
            assert watchdog.find_hung() is None
            memory.moved_on_at[tick] -= 10
            hung = watchdog.find_hung()
            assert hung is not None
            assert (hung[0], hung[1] > limit_s) == (tick, True)
            memory.note_progress(tick)
    memory.note_progress("launch")
    assert (watchdog.find_hung(), memory.moved_on_at) == (None, {})


def test_a_tick_that_raises_is_watched_no_longer() -> None:
    memory = Memory()
    with pytest.raises(ValueError, match="no"), watched(memory, "launch"):
        raise ValueError("no")
    assert memory.moved_on_at == {}


def test_an_ingest_tick_with_much_to_store_does_not_hang(context: Context, run_ids: list[int]) -> None:
    """Forces a tick that has lasted for long when it stores a batch."""
    submit_queued(context)
    report(context, run_ids[0], STARTED)
    watchdog = Watchdog.of(context.memory, {"ingest": 1.0})
    with watched(context.memory, "ingest"):
        context.memory.moved_on_at["ingest"] -= 2 * AT_LEAST_S
        assert watchdog.find_hung() is not None
        ingest(context)
        assert watchdog.find_hung() is None
    assert read(context, run_ids[0]).state == "running"
