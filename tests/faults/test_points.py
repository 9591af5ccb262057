"""kill -9 of a launcher at every point between a queued run and its stored id: no run is lost, none is doubled.

The points are found by watching a launcher that lives (tests/testing/faults/kill_points.py).
"""

import math
import os
import re
import shutil
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from contract.lifecycle.state import State
from lab.fake_slurm.state import ClusterState, Settings
from migrations.commands import upgrade
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.recover import recover
from store import runs
from store.lifecycle import creation
from store.session import engine_for, snapshot, transaction
from store.tables.runs import Run
from tests.testing.fake_slurm import call_in_process, trains
from tests.testing.faults.kill_points import kill_at, watched
from tests.testing.faults.on_fake_slurm import OnStandIn, a_minute_later
from tests.testing.specs import Experiment, changed

NO_PATIENCE = timedelta(0)
COMPILED: dict[Any, Any] = {}  # statements, once for all worlds

RUNS = """
    SELECT runs.state, runs.attempt, jobs.name, jobs.array_task, jobs.external_id
    FROM runs LEFT JOIN jobs ON jobs.id = runs.current_job_id ORDER BY runs.id
"""


class World:
    """A service's home and a stand-in with the same runs queued, made anew for every kill."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def copy(self, home: Path) -> "World":
        shutil.copytree(self.home, home)
        return World(home)

    def site(self) -> Context:
        engine = engine_for(f"sqlite:///{self.home / 'bigbatch.db'}").execution_options(compiled_cache=COMPILED)
        return Context(engine, {"slurm": Slurm("python")}, self.home / "runs", local_ranks=1)

    def stage(self) -> ClusterState:
        return ClusterState(self.home / "slurm")

    def states(self) -> list[Run]:
        with snapshot(self.site().engine) as db:
            return list(runs.in_state(db, *State))

    def fingerprint(self) -> str:
        """What stands in the database, in Slurm and in the folders: all that a launcher leaves behind."""
        with sqlite3.connect(self.home / "bigbatch.db") as db:
            rows = db.execute(RUNS).fetchall()
        files = sorted(path.relative_to(self.home).as_posix() for path in (self.home / "runs").rglob("*"))
        return repr((rows, [re.sub(r"\.[0-9a-f]{16}$", "", file) for file in files], len(self.stage().jobs())))


def world_with(home: Path, experiment: Experiment, seeds: int, pack: int | None = None) -> World:
    home.mkdir()
    ClusterState.create(home / "slurm", Settings(carried=0)).db.close()
    world = World(home)
    upgrade(f"sqlite:///{home / 'bigbatch.db'}")
    with transaction(world.site().engine) as db:
        sweep = experiment({"seed": list(range(seeds))}, resources={"kind": "slurm", "ranks_per_node": 2})
        creation.create(db, changed(sweep, pack=pack))
    world.site().engine.dispose()
    return world


@pytest.fixture(
    params=[(1, None, False), (3, None, False), (2, 2, False), (3, None, True)],
    ids=["one run", "an array", "a pack", "an array in steps"],
)
def sweep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int | None]:
    """How many runs, and how many of them to a job; some are taken for many, so that each folder takes a tick."""
    seeds, pack, in_steps = request.param
    if in_steps:
        for name, size in (("submission.SMALL", 1), ("select.SMALL", 1), ("folders.PORTION", 1)):
            monkeypatch.setattr(f"scheduler.submit.{name}", size)
    return seeds, pack


@pytest.mark.ring("all")
def test_a_launcher_killed_wherever_the_world_has_changed_loses_no_run_and_doubles_none(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, sweep: tuple[int, int | None]
) -> None:
    """Forces the fault: SIGKILL to the process of a launcher after each change that it made, one world each."""
    seeds, pack = sweep
    fresh = world_with(tmp_path / "fresh", experiment, seeds, pack)
    points = recorded(fresh.copy(tmp_path / "recorded"), monkeypatch)
    changed = changes(points)
    assert len(changed) >= 8
    kill_at_each(changed, fresh, seeds, jobs=-(-seeds // (pack or 1)))


@pytest.mark.long
def test_a_launcher_killed_at_any_line_loses_no_run_and_doubles_none(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: SIGKILL to the process of a launcher before each line that it carries out, one world each."""
    seeds = 1
    fresh = world_with(tmp_path / "fresh", experiment, seeds)
    points = recorded(fresh.copy(tmp_path / "recorded"), monkeypatch)
    kill_at_each([point for point, _ in points], fresh, seeds)


def kill_at_each(points: Sequence[str], fresh: World, seeds: int, *, jobs: int = 1) -> None:
    """Kill a launcher at every point, as many worlds at a time as there are cores, and compare what is left."""
    kill = partial(left_by_a_kill, fresh.home, seeds)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        left = set(pool.map(kill, points, range(len(points))))
    # the kills came before the run was taken, after, with the job in Slurm already, and with its id stored
    assert left == {("queued", 0), ("submitting", 0), ("submitting", jobs), ("pending", jobs)}, len(points)


def left_by_a_kill(fresh: Path, seeds: int, point: str, number: int) -> tuple[str, int]:
    """The run's state and the number of jobs in Slurm after the kill; then a worker begins again, and all is there."""
    world = World(fresh).copy(fresh.with_name(str(number)))
    with pytest.MonkeyPatch.context() as patch:
        call_in_process(patch, world.home / "slurm")
        killed(world, point)
        left = (str(world.states()[0].state), len(world.stage().jobs()))
        begin_again(world)
        all_is_there_once(world, seeds, point)
    world.site().engine.dispose()
    shutil.rmtree(world.home)
    return left


def changes(points: Sequence[tuple[str, str]]) -> list[str]:
    """The first point, and those that found the world other than the one before."""
    return [points[0][0]] + [
        point for (point, left), (_, before) in zip(points[1:], points, strict=False) if left != before
    ]


@pytest.mark.long
@pytest.mark.flow
@pytest.mark.timeout(1000)
def test_a_worker_killed_wherever_the_world_has_changed_loses_no_run_and_doubles_none(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, on: OnStandIn
) -> None:
    """Forces the fault: SIGKILL to a whole worker after each change that its launcher made, one after the other."""
    fresh = world_with(tmp_path / "fresh", experiment, 2)
    with monkeypatch.context() as patch:
        changed = changes(recorded(fresh, patch))
    for point in changed:
        on.service.kill("worker")
        a_minute_later(on.service)  # each of them reads Slurm's limits anew
        on.service.start("worker", module="tests.testing.faults.dying_worker", more=[point])
        posted = on.post(2)
        on.service.processes["worker"].wait(150)
        a_minute_later(on.service)
        on.service.start("worker")
        on.true_soon(posted)
        on.all_done(posted)


def recorded(world: World, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """All points of a launcher that nobody kills, in their order, and what the world was like at each."""
    # to look at the world takes time: signs that are given by the clock would be points that a kill does not come to
    monkeypatch.setattr("scheduler.submit.folders.RENEW_S", math.inf)
    call_in_process(monkeypatch, world.home / "slurm")
    points: dict[str, str] = {}

    def see(point: str) -> None:
        if point not in points:
            points[point] = world.fingerprint()

    with watched(see):
        tick(world)
    return list(points.items())


def killed(world: World, point: str) -> None:
    """A launcher in a process of its own, which is killed at the point."""
    child = os.fork()
    if not child:
        with watched(kill_at(point)):
            tick(world)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9, f"{point} was never reached"


def tick(world: World) -> None:
    """A launcher's ticks, each as short as can be, until what one has begun is done."""
    site = world.site()
    submit_queued(site, 0.0)
    while site.memory.open_submissions:
        submit_queued(site, 0.0)


def begin_again(world: World) -> None:
    """The worker is started again: what it was in the middle of is found, then it launches."""
    site = world.site()
    recover(site, NO_PATIENCE)
    submit_queued(site)


def all_is_there_once(world: World, seeds: int, point: str) -> None:
    jobs, found = world.stage().jobs(), world.states()
    assert [run.state for run in found] == [State.PENDING] * seeds, f"lost after {point}"
    assert len({(job.name, job.task) for job in jobs}) == len(jobs), f"Slurm has a job twice after {point}"
    begun = [(job.full_id, folder) for job in jobs for folder in trains(world.stage(), job)]
    wanted = [
        (str(run.current_job and run.current_job.external_id), world.site().folder_of(run).path.resolve())
        for run in found
    ]
    assert sorted(begun) == sorted(wanted), f"who trains is not who is known after {point}"
