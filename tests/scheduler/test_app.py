"""The application of workers and clock, made as both make it at their start."""

import threading
import time
from pathlib import Path

import pytest

from contract.settings import Settings
from scheduler.app import PERIODS_S, _site, make_app
from scheduler.context import Site


def test_every_tick_of_the_clock_is_a_task_of_the_workers(tmp_path: Path) -> None:
    app = make_app(Settings(home=tmp_path, slurm=False))
    wanted = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert wanted == {f"bigbatch.{name}" for name in PERIODS_S}
    assert wanted <= app.tasks.keys()


def test_ticks_that_are_the_first_and_begin_together_have_one_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: all ticks of a worker that has just come up begin while its site is made."""
    seen, of = list[Site](), Site.of

    def slowly(settings: Settings) -> Site:
        time.sleep(0.3)
        return of(settings)

    monkeypatch.setattr(Site, "of", slowly)
    site = _site(Settings(home=tmp_path, slurm=False))
    ticks = [threading.Thread(target=lambda: seen.append(site())) for _ in PERIODS_S]
    for tick in ticks:
        tick.start()
    for tick in ticks:
        tick.join()
    assert (len(seen), len({id(site) for site in seen})) == (len(PERIODS_S), 1)
