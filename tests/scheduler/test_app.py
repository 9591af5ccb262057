"""The application of workers and clock, made as both make it at their start."""

from pathlib import Path

from contract.settings import Settings
from scheduler.app import PERIODS_S, make_app


def test_every_tick_of_the_clock_is_a_task_of_the_workers(tmp_path: Path) -> None:
    app = make_app(Settings(home=tmp_path, slurm=False))
    wanted = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert wanted == {f"bigbatch.{name}" for name in PERIODS_S}
    assert wanted <= app.tasks.keys()
