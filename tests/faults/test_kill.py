"""kill -9 of each part of the service while a run trains: no point and no run is lost."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.service import Service, running

pytestmark = pytest.mark.flow
SPEC = """
name: killed
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.02}
  batch: 32
  epochs: 8
  resources: {kind: local, ranks_per_node: 2}
axes: {seed: [0, 1]}
"""
STEPS = 8 * (1437 // 32)
AWAY_S = 3.0  # long enough for the run to go on a good way without the part


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("killed"), {"BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": "2"}) as it:
        yield it


@pytest.mark.parametrize("part", ["worker", "api", "clock"])
def test_a_part_killed_while_a_run_trains_loses_nothing(service: Service, part: str) -> None:
    """Forces the fault: SIGKILL to one part after the first run's tenth step, with a second run queued."""
    first, second = service.post(SPEC)
    service.wait_until(first, step=10)
    service.kill(part)
    time.sleep(AWAY_S)
    service.start(part)
    service.wait_for_api()
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


def test_a_worker_killed_while_it_submits_loses_no_run_and_doubles_none(service: Service) -> None:
    """Forces the fault: SIGKILL to the worker as soon as a run is no longer queued, at whatever point it then is.

    The points between are forced one by one, with a puppet for a cluster, in tests/scheduler/test_launch.py.
    """
    first, second = service.post(SPEC.replace("epochs: 8", "epochs: 1"))
    while service.get(f"/runs/{first}")["state"] == "queued":
        time.sleep(0.005)
    service.kill("worker")
    service.start("worker")
    for run_id in (first, second):
        run = service.wait_for_end(run_id, 180)
        assert run["state"] == "done", service.story(run_id)
        claims = list((Path(run["folder"]) / "attempts").glob("[0-9].json"))
        assert len(claims) == 1, "exactly one job has trained"
