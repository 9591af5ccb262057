"""Faults forced on a real Slurm, under runs that train for real on two hosts."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests import servers
from tests.faults import lab as hand
from tests.faults.audit import all_is_well, hosts_of
from tests.faults.conftest import a_minute_later
from tests.flow.service import Service, running
from tests.servers import wait_for

pytestmark = [pytest.mark.slurm, pytest.mark.postgres, pytest.mark.redis, pytest.mark.long, pytest.mark.timeout(400)]
SPEC = """
name: on the lab
base:
  optimizer: {{kind: lars}}
  schedule: {{kind: polynomial, rate: 8.0, warmup_epochs: 1.0}}
  batch: 128
  epochs: {epochs}
  resources: {{kind: slurm, nodes: 2, ranks_per_node: 1, partition: gpu}}
  checkpoint: {{every_epochs: 1}}
  retries: {{failure: 1, backoff_s: 1}}
"""


@pytest.fixture(scope="module")
def began() -> float:
    return time.time()


@pytest.fixture(scope="module")
def _team(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: str, redis_url: str, lab: dict[str, str], began: float
) -> Iterator[Service]:
    settings = {
        **lab,
        "BIGBATCH_DATABASE": servers.new_database(postgres_server, "faults"),
        "BIGBATCH_BROKER": redis_url,
        "BIGBATCH_SLURM": "true",
        "BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1",
    }
    with running(tmp_path_factory.mktemp("faults"), settings) as service:
        yield service


@pytest.fixture
def team(_team: Service) -> Service:
    a_minute_later(_team)
    return _team


def post(team: Service, epochs: int = 30) -> int:
    (run_id,) = team.post(SPEC.format(epochs=epochs))
    return run_id


def training(team: Service, epochs: int = 30) -> dict[str, Any]:
    run_id = post(team, epochs)
    team.wait_until(run_id, step=15, patience_s=180)
    return dict(team.get(f"/runs/{run_id}"))


def ends_well(team: Service, run_id: int, began: float, attempts: int) -> dict[str, Any]:
    team.wait_for_end(run_id, 240)
    all_is_well(team, [run_id], lambda: hand.accounting(began))
    run = dict(team.get(f"/runs/{run_id}"))
    assert run["attempt"] == attempts, team.story(run_id)
    return run


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_is_named_and_the_run_goes_on_from_its_checkpoint(
    team: Service, began: float, rank: int
) -> None:
    """Forces the fault: SIGKILL to one rank of two, on a host of its own."""
    run = training(team)
    os.kill(hand.ranks_of(run["folder"])[rank], signal.SIGKILL)
    run = ends_well(team, run["id"], began, 2)
    assert run["attempts"][0]["cause"] == "failure"
    assert run["restarts"][0]["step"] >= 11


def test_a_run_whose_host_dies_goes_on_without_that_host(team: Service, began: float) -> None:
    """Forces the fault: SIGKILL to a host's slurmd and everything on it; the host stays away until Slurm knows."""
    run = training(team, 300)
    lost = hosts_of(run)[1]
    hand.kill_host(lost)
    try:
        wait_for("the second attempt", lambda: team.get(f"/runs/{run['id']}")["attempt"] == 2, 120)
    finally:
        hand.mend()
    team.stop(run["id"])
    team.wait_for_end(run["id"], 90)
    all_is_well(team, [run["id"]], lambda: hand.accounting(began), ends=("cancelled",))


def test_a_controller_that_dies_while_runs_are_submitted_gets_each_once(team: Service, began: float) -> None:
    """Forces the fault: SIGKILL to slurmctld as a run goes to it, and five seconds without one."""
    first = post(team, 2)
    hand.kill_daemon("slurmctld")
    second = post(team, 2)
    time.sleep(5)
    hand.mend()
    for run_id in (first, second):
        assert team.wait_for_end(run_id, 240)["state"] == "done", team.story(run_id)
    all_is_well(team, [first, second], lambda: hand.accounting(began))


def test_without_the_accounting_daemon_a_run_is_begun_and_its_end_is_known(team: Service, began: float) -> None:
    """Forces the fault: SIGKILL to slurmdbd before a run is posted; it comes back when the run has ended."""
    hand.kill_daemon("slurmdbd")
    try:
        run_id = post(team, 2)
        assert team.wait_for_end(run_id, 180)["state"] == "done", team.story(run_id)
    finally:
        hand.mend()
    wait_for("the accounting", lambda: bool(hand.accounting(began)), 60)
    ends_well(team, run_id, began, 1)


def test_a_run_that_a_higher_partition_preempts_goes_on_where_it_was(team: Service, began: float) -> None:
    """Forces the fault: a job in `urgent` takes a host of the run."""
    run = training(team, 60)
    hand.preempt(hosts_of(run)[0])
    run = ends_well(team, run["id"], began, 2)
    assert (run["attempts"][0]["cause"], run["restarts"][0]["lost_steps"]) == ("preempted", 0)


def test_a_job_that_is_requeued_by_hand_is_the_next_attempt(team: Service, began: float) -> None:
    """Forces the fault: `scontrol requeue`; Slurm begins the same job again, which must leave the run alone."""
    run = training(team, 60)
    hand.requeue(run["job_id"])
    ends_well(team, run["id"], began, 2)


def test_a_job_that_is_cancelled_by_hand_cancels_its_run(team: Service, began: float) -> None:
    """Forces the fault: scancel from somebody's shell."""
    run = training(team, 3000)
    hand.slurm("scancel", run["job_id"])
    wait_for("the end", lambda: team.get(f"/runs/{run['id']}")["state"] == "cancelled", 30)
    all_is_well(team, [run["id"]], lambda: hand.accounting(began), ends=("cancelled",))


def test_a_job_that_does_not_hear_is_stopped_by_force(team: Service, began: float) -> None:
    """Forces the fault: the ranks are stopped with SIGSTOP, so that SIGTERM reaches nobody."""
    run = training(team, 3000)
    ranks = hand.ranks_of(run["folder"])
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    team.stop(run["id"])
    wait_for("the end", lambda: team.get(f"/runs/{run['id']}")["state"] == "cancelled", 45)
    assert not hand.ranks_of(run["folder"])
    all_is_well(team, [run["id"]], lambda: hand.accounting(began), ends=("cancelled",))
