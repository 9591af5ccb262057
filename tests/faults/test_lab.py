"""Faults forced on a real Slurm, under runs that train for real on two hosts."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.testing.databases import new_database
from tests.testing.faults import lab as hand
from tests.testing.faults import truth
from tests.testing.faults.audit import all_is_well, events, hosts_of
from tests.testing.faults.on_fake_slurm import a_minute_later
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = [pytest.mark.slurm, pytest.mark.postgres, pytest.mark.redis, pytest.mark.long]
SPEC = """
name: on the lab
base:
  optimizer: {{kind: lars}}
  schedule: {{kind: polynomial, rate: 8.0, warmup_epochs: 1.0}}
  batch: 128
  epochs: {epochs}
  device: cpu  # the lab's GPUs are fake, so a run that requests some would refuse to train
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
        "BIGBATCH_DATABASE": new_database(postgres_server, "faults"),
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


def training(team: Service, epochs: int = 150) -> dict[str, Any]:
    """A run that has taken over three epochs' steps, of so many that it is not through before it is struck."""
    run_id = post(team, epochs)
    team.wait_until(run_id, step=40, patience_s=180)  # the first epoch's checkpoint was written long ago
    return dict(team.get(f"/runs/{run_id}"))


def true_soon(team: Service, *run_ids: int) -> None:
    truth.true_soon(team, run_ids, hand.jobs)


def kinds_of(run: dict[str, Any], attempt: int) -> set[str]:
    """What kinds of things an attempt has said."""
    return {line["kind"] for line in events(Path(run["folder"])) if line["attempt"] == attempt}


def excluded_from(run: dict[str, Any], attempt: int) -> list[str]:
    """The hosts that an attempt's script told Slurm not to use."""
    (script,) = (Path(run["folder"]) / "submission").glob(f"*-{attempt}.sh")
    asked = re.findall(r"^#SBATCH --exclude=(\S+)$", script.read_text(), re.MULTILINE)
    return [host for word in asked for host in word.split(",")]


def wait_for_end_of(run: dict[str, Any]) -> None:
    """Wait until Slurm knows that the run's job is over."""
    wait_for(f"the end of job {run['job_id']}", lambda: not hand.is_under_way(run["job_id"]), 120)


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
    wait_for_end_of(run)
    true_soon(team, run["id"])
    run = ends_well(team, run["id"], began, 2)
    assert run["attempts"][0]["cause"] == "failure"
    assert run["restarts"][0]["step"] >= 11


def test_a_run_whose_host_dies_goes_on_without_that_host(team: Service, began: float) -> None:
    """Forces the fault: SIGKILL to a host's slurmd and everything on it; the host stays away.

    The fault ends when Slurm knows of it: it gives a host 30 s to be heard from (SlurmdTimeout).
    """
    run = training(team, 3000)
    lost = hosts_of(run)[1]
    hand.kill_host(lost)
    try:
        wait_for_end_of(run)
        true_soon(team, run["id"])
        wait_for("the second attempt's first word", lambda: "started" in kinds_of(run, attempt=2), 120)
        assert lost not in hosts_of(run)
        assert len(hosts_of(run)) == 2
        assert excluded_from(run, attempt=2) == [lost], "the other host had not failed"
    finally:
        hand.mend()
    team.stop(run["id"])
    team.wait_for_end(run["id"], 90)
    all_is_well(team, [run["id"]], lambda: hand.accounting(began), ends=("cancelled",))


def test_a_controller_that_is_away_while_runs_are_submitted_gets_each_once(team: Service, began: float) -> None:
    """Forces the fault: SIGKILL to slurmctld before runs go to it, and five seconds without one.

    Before: it may lose a job that it has just taken, and that this is so nobody can know within half a minute.
    """
    hand.kill_daemon("slurmctld")
    first, second = post(team, 2), post(team, 2)
    time.sleep(5)
    hand.mend()
    true_soon(team, first, second)
    for run_id in (first, second):
        assert team.wait_for_end(run_id, 240)["state"] == "done", team.story(run_id)
    all_is_well(team, [first, second], lambda: hand.accounting(began))


def test_a_controller_that_dies_while_an_sbatch_waits_for_it_gets_the_run_once(team: Service, began: float) -> None:
    """Forces the fault: slurmctld is stopped with SIGSTOP, sbatch is seen to wait for it; SIGKILL, and a new one."""
    assert team.wait_for_end(post(team, 2), 120)["state"] == "done", "the worker knows how much Slurm takes"
    a_minute_later(team)  # the calls that the first run has used
    hand.freeze_daemon("slurmctld")
    try:
        run_id = post(team, 2)
        folder = team.get(f"/runs/{run_id}")["folder"]
        wait_for("an sbatch that waits", lambda: hand.sbatch_waits(folder), 30)
        hand.kill_daemon("slurmctld")
    finally:
        hand.mend()
    true_soon(team, run_id)
    assert team.wait_for_end(run_id, 240)["state"] == "done", team.story(run_id)
    all_is_well(team, [run_id], lambda: hand.accounting(began))


def test_a_run_whose_job_is_on_hold_is_stopped(team: Service, began: float) -> None:
    """Forces the state: the partition begins no jobs, `scontrol hold` comes, and the partition is open again."""
    hand.slurm("scontrol", "update", "PartitionName=gpu", "State=DOWN")
    try:
        run_id = post(team)
        wait_for("the job", lambda: team.get(f"/runs/{run_id}")["state"] == "pending")
        run = team.get(f"/runs/{run_id}")
        hand.slurm("scontrol", "hold", run["job_id"])
    finally:
        hand.slurm("scontrol", "update", "PartitionName=gpu", "State=UP")
    wait_for("the reason", lambda: team.get(f"/runs/{run_id}")["waits_kind"] == "held")
    team.stop(run_id)
    wait_for_end_of(run)
    true_soon(team, run_id)
    assert team.get(f"/runs/{run_id}")["state"] == "cancelled"
    all_is_well(team, [run_id], lambda: hand.accounting(began), ends=("cancelled",))


def test_without_the_accounting_daemon_a_run_is_begun_and_its_end_is_known(team: Service, began: float) -> None:
    """Forces the fault: SIGKILL to slurmdbd before a run is posted; it comes back when the run has ended."""
    hand.kill_daemon("slurmdbd")
    try:
        run_id = post(team, 2)
        assert team.wait_for_end(run_id, 180)["state"] == "done", team.story(run_id)
        true_soon(team, run_id)
    finally:
        hand.mend()
    wait_for("the accounting", lambda: bool(hand.accounting(began)))
    ends_well(team, run_id, began, 1)


def test_a_run_that_a_higher_partition_preempts_goes_on_where_it_was(team: Service, began: float) -> None:
    """Forces the fault: a job in `urgent` takes a host of the run."""
    run = training(team, 200)
    hand.preempt(hosts_of(run)[0])
    wait_for_end_of(run)
    true_soon(team, run["id"])
    run = ends_well(team, run["id"], began, 2)
    assert (run["attempts"][0]["cause"], run["restarts"][0]["lost_steps"]) == ("preempted", 0)


def test_a_job_that_is_requeued_by_hand_is_the_next_attempt(team: Service, began: float) -> None:
    """Forces the fault: `scontrol requeue`; Slurm begins the same job again, which must leave the run alone."""
    run = training(team, 200)
    hand.requeue(run["job_id"])
    wait_for("the job to wait again", lambda: hand.is_under_way(run["job_id"], "PENDING"))
    true_soon(team, run["id"])
    wait_for_end_of(run)
    true_soon(team, run["id"])
    ends_well(team, run["id"], began, 2)


def test_a_job_that_is_cancelled_by_hand_cancels_its_run(team: Service, began: float) -> None:
    """Forces the fault: scancel from somebody's shell."""
    run = training(team, 3000)
    hand.slurm("scancel", run["job_id"])
    wait_for_end_of(run)
    true_soon(team, run["id"])
    wait_for("the end", lambda: team.get(f"/runs/{run['id']}")["state"] == "cancelled")
    all_is_well(team, [run["id"]], lambda: hand.accounting(began), ends=("cancelled",))


def test_a_job_that_does_not_hear_is_stopped_by_force(team: Service, began: float) -> None:
    """Forces the fault: the ranks are stopped with SIGSTOP, so that SIGTERM reaches nobody."""
    run = training(team, 3000)
    ranks = hand.ranks_of(run["folder"])
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    team.stop(run["id"])
    wait_for("the end", lambda: team.get(f"/runs/{run['id']}")["state"] == "cancelled", 90)
    wait_for_end_of(run)
    true_soon(team, run["id"])
    assert not hand.ranks_of(run["folder"])
    all_is_well(team, [run["id"]], lambda: hand.accounting(began), ends=("cancelled",))


def packed(team: Service, epochs: int) -> list[dict[str, Any]]:
    """Four runs that train side by side in one job."""
    text = SPEC.format(epochs=epochs).replace("nodes: 2", "gres: gpu:1")
    run_ids = team.post(f"{text}axes: {{seed: [0, 1, 2, 3]}}\npack: 4\n")
    for run_id in run_ids:
        team.wait_until(run_id, step=15, patience_s=240)
    runs = [dict(team.get(f"/runs/{run_id}")) for run_id in run_ids]
    assert len({run["job_id"] for run in runs}) == 1
    return runs


def test_of_a_pack_one_run_is_stopped_by_force_and_one_loses_its_rank_and_the_others_go_on(
    team: Service, began: float
) -> None:
    """Forces the fault: a rank that is stopped with SIGSTOP hears no wish to end; another gets SIGKILL."""
    runs = packed(team, 250)
    stopped, killed, *others = [run["id"] for run in runs]
    os.kill(hand.ranks_of(runs[0]["folder"])[0], signal.SIGSTOP)
    os.kill(hand.ranks_of(runs[1]["folder"])[0], signal.SIGKILL)
    true_soon(team, *(run["id"] for run in runs))
    team.stop(stopped)
    true_soon(team, stopped, killed, *others)
    wait_for("the stop", lambda: team.get(f"/runs/{stopped}")["state"] == "cancelled")
    wait_for("the second attempt", lambda: team.get(f"/runs/{killed}")["attempt"] == 2)
    assert not hand.ranks_of(runs[0]["folder"])
    for run_id in (killed, *others):
        assert team.wait_for_end(run_id, 240)["state"] == "done", team.story(run_id)
    assert [team.get(f"/runs/{run_id}")["attempt"] for run_id in others] == [1, 1]
    all_is_well(team, [run["id"] for run in runs], lambda: hand.accounting(began), ends=("done", "cancelled"))


def test_a_pack_that_is_preempted_goes_on_and_one_that_is_cancelled_by_hand_is_cancelled(
    team: Service, began: float
) -> None:
    """Forces the fault: a job in `urgent` takes the host of four runs; later somebody says scancel."""
    runs = packed(team, 30000)
    run_ids = [run["id"] for run in runs]
    hand.preempt(hosts_of(runs[0])[0])
    wait_for_end_of(runs[0])
    true_soon(team, *run_ids)
    wait_for("the next attempt", lambda: {team.get(f"/runs/{run_id}")["attempt"] for run_id in run_ids} == {2})
    for run_id in run_ids:  # the first attempt may have come to any step; that the second one resumed is what counts
        wait_for(f"run {run_id} to resume", lambda run_id=run_id: bool(team.get(f"/runs/{run_id}")["restarts"]))  # type: ignore[misc]
    again = [team.get(f"/runs/{run_id}") for run_id in run_ids]
    assert [run["attempts"][0]["cause"] for run in again] == ["preempted"] * 4
    assert [run["restarts"][0]["lost_steps"] for run in again] == [0] * 4
    hand.slurm("scancel", *{run["job_id"] for run in again})
    wait_for_end_of(again[0])
    true_soon(team, *run_ids)
    wait_for("the end", lambda: {team.get(f"/runs/{run_id}")["state"] for run_id in run_ids} == {"cancelled"})
    all_is_well(team, run_ids, lambda: hand.accounting(began), ends=("cancelled",))
