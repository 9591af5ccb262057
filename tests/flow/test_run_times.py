"""How long runs ran, with a service that is really stopped and started meanwhile."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.flow.test_restart import PARTS, end_orderly, start_again
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = pytest.mark.flow
OFF_S = 12.0  # for so long the service is off
SLACK_S = 4.0
SPEC = """
name: {name}
axes: {{parameters.seed: [0, 1]}}
base:
  kind: program
  command: {command}
  parameters: {{seed: 0}}
  resources: {{kind: local, ranks_per_node: 1}}
"""
PAUSED = "'if [ $BIGBATCH_ATTEMPT = 1 ]; then sleep 600; fi; sleep 1'"
HELD = "'while [ ! -e {path} ]; do sleep 0.05; done'"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path / "home", {"BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": "2"}) as it:
        yield it


def all_run(service: Service, ids: list[int]) -> None:
    wait_for("the runs", lambda: all(service.get(f"/runs/{one}")["state"] == "running" for one in ids))


def answered_seconds(service: Service, ids: list[int]) -> float:
    """Return the mean time of the runs as the answer of their experiment says it."""
    experiment_id = service.get(f"/runs/{ids[0]}")["experiment_id"]
    answer = service.get(f"/experiments/{experiment_id}/answer", figure="run_s")
    assert answer["figure"]["name"] == "run_s", answer
    return float(answer["groups"][0]["figure"]["mean"])


def test_the_time_of_a_paused_run_has_no_time_in_which_the_service_was_off(service: Service) -> None:
    """The documented upgrade: before, its time was the sum of both attempts and of the absence."""
    ids = service.post(SPEC.format(name="paused", command=PAUSED))
    all_run(service, ids)
    began = time.monotonic()
    end_orderly(service)
    first_s = time.monotonic() - began
    time.sleep(OFF_S)
    start_again(service)
    ended = [service.wait_for_end(one) for one in ids]
    assert [(run["state"], run["attempt"]) for run in ended] == [("done", 2)] * 2
    for run in ended:
        assert 1.0 <= run["ran_s"] < first_s + 1.0 + SLACK_S
        assert sum(one["ran_s"] for one in run["attempts"]) == pytest.approx(run["ran_s"])
        assert all(one["started_at"] < one["ended_at"] for one in run["attempts"])
    assert answered_seconds(service, ids) < first_s + 1.0 + SLACK_S


def test_a_run_that_ends_while_the_service_is_killed_has_its_own_time(service: Service, tmp_path: Path) -> None:
    """Forces the fault: kill -9 of the service; its jobs on this machine go on and end before the next start."""
    path = tmp_path / "go"
    ids = service.post(SPEC.format(name="alone", command=HELD.format(path=path)))
    all_run(service, ids)
    began = time.monotonic()
    jobs = [int(service.get(f"/runs/{one}")["job_id"].rpartition(":")[2]) for one in ids]
    for part in PARTS:
        service.kill(part)
    path.touch()
    wait_for("the ends of the jobs", lambda: not any(map(psutil.pid_exists, jobs)))
    ran_s = time.monotonic() - began
    time.sleep(OFF_S)
    start_again(service)
    for run in [service.wait_for_end(one) for one in ids]:
        assert run["state"] == "done"
        assert 0.0 < run["ran_s"] < ran_s + SLACK_S
    assert answered_seconds(service, ids) < ran_s + SLACK_S
