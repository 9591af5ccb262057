"""A stop that was asked for arrives whatever is in its way: answers that are spoilt, a hold, a submission, an array."""

from datetime import datetime
from pathlib import Path

import pytest

from api.sentences.run_reason import OVERDUE
from lab.fake_slurm.state import Job
from store import runs
from store.clock import now
from store.session import engine_for, snapshot
from store.tables.runs import Run
from tests.testing.faults.light import HURRY
from tests.testing.faults.on_fake_slurm import OnStandIn
from tests.testing.servers import wait_for

pytestmark = pytest.mark.flow
LONG = 500  # epochs that nobody waits for


def training(on: OnStandIn, runs: int = 1) -> list[int]:
    """Runs that have taken some steps, together in one submission."""
    run_ids = on.post(runs, epochs=LONG)
    for run_id in run_ids:
        on.service.wait_until(run_id, step=3)
    return run_ids


def stop_requested_at(on: OnStandIn, run_id: int) -> datetime | None:
    """When the service noted that it asked the cluster to end the run's job."""
    with snapshot(engine_for(on.database)) as db:
        run = db.get_one(Run, run_id, options=[runs.WITH_JOB])
        return run.current_job.stop_requested_at if run.current_job else None


def reason_of(on: OnStandIn, run_id: int) -> str:
    return str(on.service.get(f"/runs/{run_id}")["reason"])


def is_cancelled(on: OnStandIn, run_id: int, job: Job) -> None:
    """The job ends, and within 30 s the run is told to be cancelled."""
    on.wait_for_end_of(job)
    on.true_soon([run_id])
    assert on.states([run_id]) == ["cancelled"]
    on.all_is_well([run_id], "cancelled")


@pytest.mark.long
@pytest.mark.parametrize("fault", ["empty", "garbage", "down"])
def test_a_stop_while_squeue_is_spoilt_is_carried_out_once_squeue_is_well(on: OnStandIn, fault: str) -> None:
    """Forces the fault: squeue says nothing, garbage or that it is down from before a stop until after three calls."""
    (run_id,) = training(on)
    job = on.job_of(run_id)
    on.stage.set_fault("squeue", fault)
    on.service.stop(run_id)
    on.wait_for_calls("squeue", 3)
    run = on.service.get(f"/runs/{run_id}")
    assert (run["state"], run["stopping"]) == ("running", True)
    assert "was asked to" not in str(run["reason"])
    assert stop_requested_at(on, run_id) is None
    assert not on.cancels_of(job), "whose job that is was not known"
    on.stage.set_fault("squeue", None)
    on.true_soon([run_id])
    is_cancelled(on, run_id, job)
    assert "KILL" not in on.cancels_of(job)[0], "it is asked before it is made to"


def test_a_run_is_stopped_while_its_job_is_on_hold(on: OnStandIn) -> None:
    """Forces the state: the job waits for a host, and `scontrol hold` comes before one is free."""
    on.stage.db.execute("UPDATE hosts SET down = 1")
    (run_id,) = on.post(epochs=LONG)
    wait_for("the job", lambda: on.states([run_id]) == ["pending"])
    job = on.job_of(run_id)
    on.command("scontrol", "hold", job.full_id)
    on.stage.db.execute("UPDATE hosts SET down = 0")
    wait_for("the reason", lambda: on.service.get(f"/runs/{run_id}")["waits_kind"] == "held")
    on.true_soon([run_id])
    assert on.states([run_id]) == ["pending"], "there is room, and it may not begin"
    on.service.stop(run_id)
    is_cancelled(on, run_id, job)


def test_a_run_that_is_stopped_as_it_is_submitted_never_trains_on(on: OnStandIn) -> None:
    """Forces the state: sbatch has handed the job in and hangs for eight seconds, in which the stop is asked for."""
    on.stage.set_fault("sbatch", "accept-then-hang=8", times=1)
    before = len(on.stage.jobs())
    (run_id,) = on.post(epochs=LONG)
    wait_for("the job", lambda: len(on.stage.jobs()) > before)
    on.service.stop(run_id)
    assert on.states([run_id]) == ["submitting"]
    (job,) = on.stage.jobs()[before:]
    is_cancelled(on, run_id, job)
    assert len(on.stage.jobs()) == before + 1


def test_one_run_of_an_array_is_stopped_and_the_others_go_on(on: OnStandIn) -> None:
    """Forces the state: three runs train as one array, and the one in the middle is stopped."""
    run_ids = training(on, 3)
    jobs = [on.job_of(run_id) for run_id in run_ids]
    assert len({job.id for job in jobs}) == 1
    assert [job.task for job in jobs] == [0, 1, 2]
    on.service.stop(run_ids[1])
    is_cancelled(on, run_ids[1], jobs[1])
    others = [run_ids[0], run_ids[2]]
    on.true_soon(others)
    assert on.states(others) == ["running", "running"]
    for run_id in others:
        (Path(on.service.get(f"/runs/{run_id}")["folder"]) / HURRY).touch()
    on.all_done(others)
    assert [on.service.get(f"/runs/{run_id}")["attempt"] for run_id in others] == [1, 1]


@pytest.mark.long
def test_a_stop_that_slurm_does_not_honor_is_shown_as_such(on: OnStandIn) -> None:
    """Forces the fault: scancel says that all is well and does nothing, for more than a minute."""
    (run_id,) = training(on)
    job = on.job_of(run_id)
    on.stage.set_fault("scancel", "ignored")
    on.service.stop(run_id)
    wait_for("the page to say so", lambda: "still runs it" in reason_of(on, run_id))
    asked_at = stop_requested_at(on, run_id)
    assert asked_at
    assert now() - asked_at >= OVERDUE, "a cluster is given a minute"
    wait_for("both requests", lambda: len(on.cancels_of(job)) >= 2 and "to kill it, last at" in reason_of(on, run_id))
    assert on.states([run_id]) == ["running"]
    before = len(on.cancels_of(job))
    on.stage.set_fault("scancel", None)
    on.true_soon([run_id])
    wait_for("another kill", lambda: len(on.cancels_of(job)) > before)
    is_cancelled(on, run_id, job)
