"""Runs that share a job: each has its own end, and what befalls the job befalls those that still live."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.testing.faults.light import HURRY
from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.servers import wait_for

pytestmark = pytest.mark.flow
SPEC = """
name: packed
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.02}}
  batch: 128
  epochs: {epochs}
  resources: {{kind: slurm, partition: gpu}}
  retries: {{backoff_s: 1}}
axes: {{seed: {seeds}}}
pack: 4
"""


def post(on: OnStandIn, runs: int = 4, *, epochs: int = 1) -> list[int]:
    return on.service.post(SPEC.format(epochs=epochs, seeds=list(range(runs))))


def training(on: OnStandIn, epochs: int = 200) -> list[int]:
    """Four runs in one job that have taken some steps."""
    run_ids = post(on, epochs=epochs)
    for run_id in run_ids:
        on.service.wait_until(run_id, step=3)
    assert len({on.service.get(f"/runs/{run_id}")["job_id"] for run_id in run_ids}) == 1
    return run_ids


def hurry(on: OnStandIn, run_ids: list[int]) -> None:
    """What is left of these runs takes no time."""
    for run_id in run_ids:
        (folder(on, run_id) / HURRY).touch()


def folder(on: OnStandIn, run_id: int) -> Path:
    return Path(on.service.get(f"/runs/{run_id}")["folder"])


def ranks_of(path: Path) -> list[psutil.Process]:
    """The processes that carry the run in a folder, not the sruns that began them."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if "tests.testing.faults.light" in words and any(Path(word).resolve() == path.resolve() for word in words):
            found.append(process)
    return found


def test_six_runs_in_packs_of_four_are_two_jobs_of_three(on: OnStandIn) -> None:
    before = len(on.stage.jobs())
    run_ids = post(on, 6)
    on.all_done(run_ids)
    first, second = on.stage.jobs()[before:]
    assert (first.full_id, first.tasks_per_node) == (f"{first.id}_0", 3)
    job_ids = [on.service.get(f"/runs/{run_id}")["job_id"] for run_id in run_ids]
    assert job_ids == [first.full_id] * 3 + [second.full_id] * 3


def test_of_a_pack_one_run_is_stopped_and_one_is_killed_and_the_others_go_on(on: OnStandIn) -> None:
    """Forces the fault: SIGKILL to the rank of one run; another is stopped by its user."""
    run_ids = training(on)
    stopped, killed, *others = run_ids
    scancels = on.stage.count_calls("scancel")
    on.service.stop(stopped)
    ranks_of(folder(on, killed))[0].kill()
    on.true_soon(run_ids)
    wait_for("both ends", lambda: on.states([stopped, killed]) == ["cancelled", "failed"])
    assert "exit code 137" in on.service.get(f"/runs/{killed}")["reason"]
    assert (on.states(others), on.stage.count_calls("scancel")) == (["running"] * 2, scancels)
    assert not ranks_of(folder(on, stopped))
    hurry(on, others)
    on.all_done(others)
    on.all_is_well(run_ids, "done", "cancelled", "failed")


def test_scancel_by_hand_cancels_all_of_a_pack_that_still_live(on: OnStandIn) -> None:
    """Forces the fault: scancel from somebody's shell, when one of four runs has ended already."""
    run_ids = training(on)
    hurry(on, run_ids[:1])
    wait_for("the first run's end", lambda: on.states(run_ids[:1]) == ["done"])
    job = on.job_of(run_ids[1])
    on.command("scancel", job.full_id)
    on.wait_for_end_of(job)
    on.true_soon(run_ids)
    wait_for("the ends", lambda: on.states(run_ids) == ["done", *["cancelled"] * 3])
    on.all_is_well(run_ids, "done", "cancelled")


@pytest.mark.long
def test_all_of_a_pack_go_on_after_a_preemption(on: OnStandIn) -> None:
    """Forces the fault: a job of a higher partition takes the place of the pack's; one run hears nothing of it."""
    run_ids = training(on)
    deaf = ranks_of(folder(on, run_ids[3]))[0]
    os.kill(deaf.pid, signal.SIGSTOP)
    job = on.job_of(run_ids[0])
    on.befall("preempt", job.full_id)
    on.wait_for_end_of(job)
    on.true_soon(run_ids)
    wait_for("the second attempts", lambda: {attempt(on, run_id) for run_id in run_ids} == {2})
    hurry(on, run_ids)
    on.all_done(run_ids)
    runs = [on.service.get(f"/runs/{run_id}") for run_id in run_ids]
    assert [run["attempts"][0]["cause"] for run in runs] == ["preempted"] * 4
    assert [run["restarts"][0]["lost_steps"] for run in runs[:3]] == [0] * 3


def attempt(on: OnStandIn, run_id: int) -> int:
    return int(on.service.get(f"/runs/{run_id}")["attempt"])


@pytest.mark.long
def test_a_pack_that_slurm_requeues_is_the_next_attempt_of_its_runs(on: OnStandIn) -> None:
    """Forces the fault: `scontrol requeue` by hand when one of four runs has ended; the same id begins again."""
    run_ids = training(on)
    hurry(on, run_ids[:1])
    wait_for("the first run's end", lambda: on.states(run_ids[:1]) == ["done"])
    job = on.job_of(run_ids[1])
    on.befall("requeue", job.full_id)
    on.wait_for_end_of(job)
    on.true_soon(run_ids)
    wait_for("the second attempts", lambda: {attempt(on, run_id) for run_id in run_ids[1:]} == {2})
    hurry(on, run_ids)
    on.all_done(run_ids)
    assert [attempt(on, run_id) for run_id in run_ids] == [1, 2, 2, 2]
