"""What befalls jobs: failed hosts, preemption, requeue, scancel by hand, and jobs that will not go."""

import pytest

from tests.faults.conftest import TRUE_WITHIN_S, OnStandIn
from tests.servers import wait_for

pytestmark = pytest.mark.flow


def training(on: OnStandIn, epochs: int = 10) -> int:
    """A run that has taken some steps."""
    (run_id,) = on.post(epochs=epochs)
    on.service.wait_until(run_id, step=3)
    return run_id


def test_a_run_whose_host_fails_goes_on_elsewhere(on: OnStandIn) -> None:
    """Forces the fault: the host of a run is gone, and its processes with it."""
    run_id = training(on)
    host = on.job_of(run_id).hosts
    on.befall("fail-host", host)
    on.all_done([run_id], 90)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"]) == (2, "node_failure")
    assert on.job_of(run_id).hosts != host


def test_a_preempted_run_goes_on_from_where_it_was(on: OnStandIn) -> None:
    """Forces the fault: a job of a higher partition takes the place of a run's."""
    run_id = training(on)
    on.befall("preempt", on.job_of(run_id).spelled)
    on.all_done([run_id], 60)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"], run["restarts"][0]["lost_steps"]) == (2, "preempted", 0)


@pytest.mark.long
@pytest.mark.parametrize("warned", [True, False], ids=["that is asked to leave", "that is killed"])
def test_a_job_that_slurm_requeues_is_the_next_attempt_of_its_run(on: OnStandIn, warned: bool) -> None:
    """Forces the fault: `scontrol requeue` by hand; the same id begins again, after a pause or after SIGKILL."""
    run_id = training(on)
    job = on.job_of(run_id)
    on.befall("requeue", job.spelled)
    if not warned:
        on.stage.change(job, wished=0)
    on.all_done([run_id], 90)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"]) == (2, "preempted")


def test_a_job_cancelled_by_hand_cancels_its_run(on: OnStandIn) -> None:
    """Forces the fault: scancel from somebody's shell."""
    run_id = training(on, 100)
    on.command("scancel", on.job_of(run_id).spelled)
    wait_for("the run's end", lambda: on.states([run_id]) == ["cancelled"], TRUE_WITHIN_S)
    on.all_is_well([run_id], "cancelled")


def test_a_stop_that_slurm_does_not_honor_is_made_again_by_force(on: OnStandIn) -> None:
    """Forces the fault: the first scancel says that all is well and does nothing."""
    on.stage.switch("scancel", "ignored", times=1)
    run_id = training(on, 200)
    on.service.stop(run_id)
    wait_for("the run's end", lambda: on.states([run_id]) == ["cancelled"], 60)
    told = [words for (words,) in on.stage.db.execute("SELECT words FROM calls WHERE command = 'scancel'")]
    assert "KILL" not in told[-2]
    assert "KILL" in told[-1]
    on.all_is_well([run_id], "cancelled")
