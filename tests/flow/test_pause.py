"""A run that is asked to pause goes on as the next attempt of the same run: one curve, no step lost or taken twice."""

import os
import signal
from typing import Any

import pytest

from tests.testing.servers import wait_for
from tests.testing.service import Service

pytestmark = pytest.mark.flow
EPOCHS = 20  # 220 steps of 0.05 s: the first attempt must be seen before its end
FIRST = ["queued", "submitting", "pending", "running", "paused"]  # the moves of an attempt that pauses
SPEC = """
name: paused
base:
  optimizer: {{kind: lars}}
  schedule: {{kind: polynomial, rate: 8.0, warmup_epochs: 1.0}}
  batch: 128
  epochs: {epochs}
  resources: {resources}
"""
SLOW = "  model: {kind: import, function: 'tests.testing.trainers.slow_net:net', options: {seconds: 0.05}}\n"


def paused_and_taken_up(service: Service, run_id: int) -> dict[str, Any]:
    """The run, as soon as its second attempt has taken a step beyond the first one's."""

    def goes_on() -> bool:
        run = service.get(f"/runs/{run_id}")
        return bool(run["attempt"] == 2 and run["restarts"] and run["step"] > run["restarts"][0]["step"] + 1)

    wait_for("the second attempt", goes_on, patience_s=420)
    run: dict[str, Any] = service.get(f"/runs/{run_id}")
    moves = [move["new"] for move in run["moves"]]
    assert moves[:9] == [*FIRST, *FIRST[:4]], service.story(run_id)
    (restart,) = run["restarts"]
    assert (restart["attempt"], restart["lost_steps"]) == (2, 0)
    return run


def test_a_local_job_that_is_told_to_end_goes_on_by_itself(embedded: Service) -> None:
    """SIGTERM to the job's group, as at a shutdown of the machine; nobody asked the service to stop the run."""
    (run_id,) = embedded.post(SPEC.format(epochs=EPOCHS, resources="{kind: local, ranks_per_node: 2}") + SLOW)
    embedded.wait_until(run_id, step=20)
    os.killpg(int(embedded.get(f"/runs/{run_id}")["job_id"].rpartition(":")[2]), signal.SIGTERM)
    paused_and_taken_up(embedded, run_id)
    run = embedded.wait_for_end(run_id)
    assert [move["new"] for move in run["moves"]] == [*FIRST, *FIRST[:4], "done"], embedded.story(run_id)
    assert run["state"] == "done"
    loss = embedded.get(f"/runs/{run_id}/points", name="loss")["series"]["loss"]
    assert loss["steps"] == list(range(1, EPOCHS * 11 + 1))


@pytest.mark.slurm
@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.long
def test_a_run_that_meets_its_time_limit_on_slurm_goes_on(team: Service) -> None:
    """A real limit of three minutes; Slurm's warning reaches all ranks before it."""
    where = "{kind: slurm, nodes: 2, ranks_per_node: 2, partition: gpu, minutes: 3}"
    (run_id,) = team.post(SPEC.format(epochs=100_000, resources=where))
    team.wait_until(run_id, step=3)
    run = paused_and_taken_up(team, run_id)
    (move,) = [move for move in run["moves"] if move["new"] == "paused"]
    assert "SIGUSR2 to rank" in move["reason"]
    assert run["state"] == "running"
    team.stop(run_id)
    assert team.wait_for_end(run_id)["state"] == "cancelled"
