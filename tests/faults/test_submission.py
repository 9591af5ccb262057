"""Submissions of which nobody knows whether they arrived: each run is with Slurm exactly once in the end."""

from pathlib import Path

import pytest

from tests.testing.faults.light import HURRY
from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.servers import wait_for

pytestmark = pytest.mark.flow


@pytest.mark.parametrize("fault", ["accept-then-timeout", "timeout"])
def test_an_sbatch_that_says_it_timed_out_loses_no_run_and_doubles_none(on: OnStandIn, fault: str) -> None:
    """Forces the fault: "Socket timed out on send/recv operation" from sbatch, the array taken, and the array not."""
    on.stage.set_fault("sbatch", fault, times=1)
    run_ids = on.post(2)
    on.wait_for_spent_fault("sbatch")
    on.true_soon(run_ids)
    on.all_done(run_ids)
    attempts = [on.service.get(f"/runs/{run_id}")["attempt"] for run_id in run_ids]
    assert attempts == [1, 1] if fault.startswith("accept") else [2, 2]


def test_a_worker_killed_while_sbatch_hangs_finds_the_job_that_slurm_took(on: OnStandIn) -> None:
    """Forces the fault: Slurm has the job, sbatch has not said so yet, and the worker is killed with SIGKILL."""
    on.stage.set_fault("sbatch", "accept-then-hang=5", times=1)
    before = len(on.stage.jobs())
    (run_id,) = on.post()
    wait_for("the job", lambda: len(on.stage.jobs()) > before)
    on.service.kill("worker")
    assert on.states([run_id]) == ["submitting"]
    on.service.start("worker")
    on.true_soon([run_id])
    on.all_done([run_id])
    assert len(on.stage.jobs()) == before + 1


def test_arrays_are_as_small_as_the_cluster_wants_them(on: OnStandIn) -> None:
    """Forces the fault: a MaxArraySize of 5, set after the service has read another; the first sbatch is refused."""
    on.stage.set("max_array_size", 5)
    before = len(on.stage.jobs())
    run_ids = on.post(12)
    on.true_soon(run_ids)
    on.all_done(run_ids)
    jobs = on.stage.jobs()[before:]
    assert len(jobs) == 12
    assert max(job.task or 0 for job in jobs) < 5


@pytest.mark.long
def test_an_id_that_slurm_gives_again_is_not_taken_for_the_old_job(on: OnStandIn) -> None:
    """Forces the fault: a job gets the id of one that failed long ago; squeue says nothing, sacct tells the old one."""
    (first,) = on.post()
    on.all_done([first])
    old = on.job_of(first)._asdict() | {"id": 4711, "task": None, "name": "old", "state": "FAILED", "exit_code": "1:0"}
    del old["row"]
    on.stage.add_jobs([old | {"submitted": 1.0, "started": 1.0, "ended": 2.0}])
    on.stage.set("next_id", 4711)
    on.stage.set("sacct_late_s", 600)
    (run_id,) = on.post(epochs=500)
    on.service.wait_until(run_id, step=3)
    assert on.service.get(f"/runs/{run_id}")["job_id"] == "4711"
    for command in ("squeue", "scontrol"):
        on.stage.set_fault(command, "empty")
    asked = on.stage.count_calls("sacct")
    wait_for("two looks", lambda: on.stage.count_calls("sacct") >= asked + 2)
    assert on.states([run_id]) == ["running"]
    on.stage.db.execute("DELETE FROM faults")
    on.true_soon([run_id])
    (Path(on.service.get(f"/runs/{run_id}")["folder"]) / HURRY).touch()
    on.all_done([run_id])
    assert on.service.get(f"/runs/{run_id}")["attempt"] == 1
