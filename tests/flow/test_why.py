"""Which rank failed first, on a real Slurm, where no parent sees how a rank ended."""

import os
import signal

import psutil
import pytest

from tests.testing.service import Service

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.postgres, pytest.mark.redis]
SPEC = """
name: to fail
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.05}
  batch: 128
  epochs: 100000
  collective: {kind: COLLECTIVE, timeout_s: 10}
  resources: {kind: slurm, nodes: 2, ranks_per_node: 2, partition: gpu}
"""


def rank_process(job_id: str, rank: int) -> psutil.Process:
    """The process of a rank of that job, on whichever of the lab's hosts: all are this machine."""
    for process in psutil.process_iter():
        try:
            answer = process.environ()
            tasks = (
                answer.get("SLURM_JOB_ID"),
                f"{answer.get('SLURM_ARRAY_JOB_ID')}_{answer.get('SLURM_ARRAY_TASK_ID')}",
            )
            if job_id in tasks and answer.get("SLURM_PROCID") == str(rank) and "trainers" in process.cmdline():
                return process
        except psutil.Error:
            continue
    raise AssertionError(f"no process of rank {rank}")


def test_a_rank_that_is_killed_is_named_by_srun_and_by_its_peers(team: Service) -> None:
    """SIGKILL to rank 3, on the second host: it can say nothing."""
    (run_id,) = team.post(SPEC.replace("COLLECTIVE", "torus"))
    team.wait_until(run_id, step=3)
    rank_process(team.get(f"/runs/{run_id}")["job_id"], 3).send_signal(signal.SIGKILL)
    run = team.wait_for_end(run_id)
    failure = run["failure"]
    assert (failure["kind"], failure["rank"]) == ("signal", 3), team.story(run_id)
    assert failure["host"].startswith("gpu")
    assert ": task 3: Killed" in failure["evidence"]


def test_a_rank_that_stalls_is_named_with_the_round_in_which_it_was_missed(team: Service) -> None:
    """SIGSTOP to rank 1: nobody sees it die."""
    (run_id,) = team.post(SPEC.replace("COLLECTIVE", "ring"))
    team.wait_until(run_id, step=3)
    stalled = rank_process(team.get(f"/runs/{run_id}")["job_id"], 1)
    stalled.send_signal(signal.SIGSTOP)
    try:
        failure = team.wait_for_end(run_id)["failure"]
    finally:
        if stalled.is_running():
            os.kill(stalled.pid, signal.SIGKILL)
    assert (failure["kind"], failure["rank"]) == ("collective_timeout", 1), team.story(run_id)
    assert failure["round"] is not None
    assert failure["host"].startswith("gpu")


def test_a_python_without_the_service_s_packages_is_a_wrong_environment(team: Service) -> None:
    """A net of the user's own, in a module that is not on the compute nodes."""
    spec = SPEC.replace("COLLECTIVE", "ring") + "  model: {kind: import, function: 'nobody_has_this:net'}\n"
    (run_id,) = team.post(spec)
    failure = team.wait_for_end(run_id)["failure"]
    assert failure["kind"] == "wrong_environment", team.story(run_id)
    assert "there is no module 'nobody_has_this'" in failure["evidence"]
