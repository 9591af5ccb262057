"""kill -9 of each part of the service while a run trains: no point and no run is lost."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.folder.run_folder import ABANDONED, RunFolder
from scheduler.clusters import local
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from store.lifecycle import creation
from store.session import transaction
from tests.testing.faults.audit import all_is_well
from tests.testing.faults.kill_points import watched
from tests.testing.faults.truth import jobs_of_this_machine, true_soon
from tests.testing.service import Service, running
from tests.testing.specs import Experiment

pytestmark = pytest.mark.flow
SPEC = """
name: killed
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.02}
  batch: 32
  epochs: 4
  model: {kind: import, function: 'tests.testing.trainers.slow_net:net', options: {seconds: 0.02}}
  resources: {kind: local, ranks_per_node: 2}
axes: {seed: [0, 1]}
"""
STEPS = 4 * (1437 // 32)
AWAY_S = 2.0  # long enough for the run to go on a good way without the part


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("killed"), {"BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": "2"}) as it:
        yield it


@pytest.fixture
def site(sqlite_engine: Engine, tmp_path: Path, experiment: Experiment) -> Context:
    """Another service's, with one run queued."""
    with transaction(sqlite_engine) as db:
        creation.create(db, experiment())
    return Context(sqlite_engine, {"local": local.Local()}, tmp_path / "runs", local_ranks=2)


@pytest.mark.parametrize("part", [pytest.param("worker", marks=pytest.mark.ring("gate")), "api", "clock"])
def test_a_part_killed_while_a_run_trains_loses_nothing(service: Service, part: str) -> None:
    """Forces the fault: SIGKILL to one part after the first run's tenth step, with a second run queued."""
    first, second = service.post(SPEC)
    service.wait_until(first, step=10)
    service.kill(part)
    time.sleep(AWAY_S)
    service.start(part)
    service.wait_for_api()
    true_soon(service, [first, second], jobs_of_this_machine)
    for run_id in (first, second):
        run = service.wait_for_end(run_id)
        assert run["state"] == "done", service.story(run_id)
        assert run["attempt"] == 1, "a run that was never lost is not begun again"
        points = service.get(f"/runs/{run_id}/points", name="loss")["series"]["loss"]
        assert points["steps"] == list(range(1, STEPS + 1))
        assert points["steps"] == steps_written(Path(run["folder"]))


def steps_written(folder: Path) -> list[int]:
    """What the trainer itself wrote down, once per step."""
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [line["step"] for line in lines if line["kind"] == "points" and "loss" in line["values"]]


@pytest.mark.long
def test_a_worker_killed_before_its_job_began_submits_again_and_after_that_adopts(
    service: Service, site: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: SIGKILL to the worker at the first and at the last line of handing a job to this machine."""
    points = lines_of_a_submission(site, monkeypatch)
    attempts = []
    for point in (points[0], points[-1]):
        service.kill("worker")
        service.start("worker", module="tests.testing.faults.dying_worker", more=[point])
        (run_id,) = service.post(SPEC.replace("epochs: 4", "epochs: 1").replace("[0, 1]", "[0]"))
        service.processes["worker"].wait(150)
        service.start("worker")
        true_soon(service, [run_id], jobs_of_this_machine)
        run = service.wait_for_end(run_id, 180)
        all_is_well(service, [run_id], list)
        folder = RunFolder(Path(run["folder"]))
        attempts.append([folder.read_claim(attempt + 1) == ABANDONED for attempt in range(run["attempt"])])
    assert attempts == [[True, False], [False]], "nobody has the attempt that was given up, one job has the other"


def lines_of_a_submission(site: Context, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The points within a submission to this machine, found by watching one of a job that does nothing."""
    monkeypatch.setattr(local, "_command", lambda _: ["true"])
    seen: list[str] = []
    with watched(seen.append):
        submit_queued(site)
    here = [point for point in seen if point.rpartition(" > ")[2].startswith("local.py")]
    return [point for point in here if "select.py" not in point]  # there the cluster is only asked whether it takes one
