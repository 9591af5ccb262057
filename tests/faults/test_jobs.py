"""What befalls jobs: failed hosts, preemption, requeue, scancel by hand, and jobs that will not go."""

from pathlib import Path

import pytest

from tests.testing.faults.light import HURRY, MEETING
from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.servers import wait_for

pytestmark = pytest.mark.flow


def training(on: OnStandIn, epochs: int = 100) -> int:
    """A run that has taken some steps, of many."""
    (run_id,) = on.post(epochs=epochs)
    on.service.wait_until(run_id, step=3)
    return run_id


def goes_on_to_its_end(on: OnStandIn, run_id: int) -> None:
    """What is left takes no time now."""
    (Path(on.service.get(f"/runs/{run_id}")["folder"]) / HURRY).touch()
    on.all_done([run_id])


def test_a_run_whose_host_fails_goes_on_elsewhere(on: OnStandIn) -> None:
    """Forces the fault: the host of a run is gone, and its processes with it."""
    run_id = training(on)
    job = on.job_of(run_id)
    on.befall("fail-host", job.hosts)
    on.wait_for_end_of(job)
    on.true_soon([run_id])
    goes_on_to_its_end(on, run_id)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"]) == (2, "node_failure")
    assert on.job_of(run_id).hosts != job.hosts


def test_a_host_that_fails_before_its_run_has_begun_is_left_out_as_well(on: OnStandIn) -> None:
    """Forces the fault: the host is gone before the ranks have met, so that Slurm alone knows which one it was."""
    meeting = Path(on.service.environment["BIGBATCH_HOME"]) / "runs" / MEETING
    meeting.parent.mkdir(exist_ok=True)
    meeting.touch()
    try:
        (run_id,) = on.post()
        wait_for("its job", lambda: on.states([run_id]) == ["pending"] and on.job_of(run_id).state == "RUNNING")
        job = on.job_of(run_id)
        on.befall("fail-host", job.hosts)
        on.wait_for_end_of(job)
    finally:
        meeting.unlink()
    on.true_soon([run_id])
    on.all_done([run_id])
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"], run["excluded"]) == (2, "node_failure", [job.hosts])
    assert run["attempts"][0]["hosts"] == [job.hosts]


def test_a_preempted_run_goes_on_from_where_it_was(on: OnStandIn) -> None:
    """Forces the fault: a job of a higher partition takes the place of a run's."""
    run_id = training(on)
    job = on.job_of(run_id)
    on.befall("preempt", job.full_id)
    on.wait_for_end_of(job)
    on.true_soon([run_id])
    goes_on_to_its_end(on, run_id)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"], run["restarts"][0]["lost_steps"]) == (2, "preempted", 0)


@pytest.mark.long
@pytest.mark.parametrize("warned", [True, False], ids=["that is asked to leave", "that is killed"])
def test_a_job_that_slurm_requeues_is_the_next_attempt_of_its_run(on: OnStandIn, warned: bool) -> None:
    """Forces the fault: `scontrol requeue` by hand; the same id begins again, after a pause or after SIGKILL."""
    run_id = training(on)
    job = on.job_of(run_id)
    on.befall("requeue", job.full_id)
    if not warned:
        on.stage.update(job, requested_at=0)
    on.wait_for_end_of(job)
    on.true_soon([run_id])
    goes_on_to_its_end(on, run_id)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["attempt"], run["attempts"][0]["cause"]) == (2, "preempted")


def test_a_job_that_slurm_starts_twice_without_a_word_is_the_next_attempt_of_its_run(on: OnStandIn) -> None:
    """Forces the fault: a controller that lost its state starts a job anew, and SLURM_RESTART_COUNT stays 0."""
    run_id = training(on)
    job = on.job_of(run_id)
    on.befall("start-again", job.full_id)
    wait_for("the second attempt", lambda: on.service.get(f"/runs/{run_id}")["attempt"] == 2, 150)
    goes_on_to_its_end(on, run_id)
    assert on.service.get(f"/runs/{run_id}")["attempts"][0]["cause"] == "preempted"


def test_a_job_cancelled_by_hand_cancels_its_run(on: OnStandIn) -> None:
    """Forces the fault: scancel from somebody's shell."""
    run_id = training(on)
    job = on.job_of(run_id)
    on.command("scancel", job.full_id)
    on.wait_for_end_of(job)
    on.true_soon([run_id])
    wait_for("the run's end", lambda: on.states([run_id]) == ["cancelled"])
    on.all_is_well([run_id], "cancelled")


def test_a_stop_that_slurm_does_not_honor_is_made_again_by_force(on: OnStandIn) -> None:
    """Forces the fault: scancel says that all is well and does nothing, until it has been called of this job."""
    run_id = training(on, 300)
    job = on.job_of(run_id)
    on.stage.set_fault("scancel", "ignored")
    on.service.stop(run_id)
    wait_for("the first asking", lambda: bool(on.cancels_of(job)))
    on.stage.set_fault("scancel", None)
    on.true_soon([run_id])
    on.wait_for_end_of(job)
    on.true_soon([run_id])
    asked, killed = on.cancels_of(job)
    assert "KILL" not in asked
    assert "KILL" in killed
    on.all_is_well([run_id], "cancelled")
