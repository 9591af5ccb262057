"""Answers of Slurm that are empty, partial, garbage, late or none: they end no run, and what is told is true soon."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.testing.faults.light import HURRY
from tests.testing.faults.on_fake_slurm import STEPS_PER_EPOCH, OnStandIn
from tests.testing.servers import wait_for

pytestmark = pytest.mark.flow
ANSWERS = ["empty", "partial", "torn", "garbage", "down", "slow=3"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_whatever_squeue_and_sacct_say_no_run_ends_before_its_job_does(on: OnStandIn) -> None:
    """Forces the faults, each for a look or two under three runs that train: squeue, sacct and scontrol say nothing,
    every second line, half of it, garbage, or that their daemon is down, and then take three seconds."""
    run_ids = on.post(3, epochs=500)
    wait_for("three jobs", lambda: on.states(run_ids) == ["running"] * 3)
    for fault in ANSWERS:
        looks = on.stage.count_calls("squeue")
        for command in ("squeue", "sacct", "scontrol"):
            on.stage.set_fault(command, fault)
        wait_for(f"a look with {fault}", lambda looks=looks: on.stage.count_calls("squeue") > looks, 60)  # type: ignore[misc]
        time.sleep(4)
        assert on.states(run_ids) == ["running"] * 3, fault
    on.stage.db.execute("DELETE FROM faults")
    on.true_soon(run_ids)
    for run in read(on, run_ids):
        (Path(run["folder"]) / HURRY).touch()
    on.all_done(run_ids, 120)
    assert [run["attempt"] for run in read(on, run_ids)] == [1, 1, 1]
    assert read(on, run_ids)[0]["step"] == 500 * STEPS_PER_EPOCH


def read(on: OnStandIn, run_ids: list[int]) -> list[dict[str, Any]]:
    return [on.service.get(f"/runs/{run_id}") for run_id in run_ids]


@pytest.mark.parametrize("down", ["squeue", pytest.param("sacct", marks=pytest.mark.long)])
def test_squeue_or_sacct_alone_suffices(on: OnStandIn, down: str) -> None:
    """Forces the fault: one of them is down, squeue together with scontrol; one job is killed then, and another is
    taken by an sbatch that says it timed out."""
    (killed,) = on.post(epochs=500)
    on.service.wait_until(killed, step=3)
    on.stage.set_fault("sbatch", "accept-then-timeout", times=1)
    (doubted,) = on.post(epochs=500)
    on.wait_for_spent_fault("sbatch")
    # not before: nothing is submitted while squeue is seen to be down
    for command in {"squeue": ("squeue", "scontrol"), "sacct": ("sacct",)}[down]:
        on.stage.set_fault(command, "down")
    in_doubt, job = time.monotonic(), on.job_of(killed)
    on.stage.update(job, requested_end="kill", requested_at=0)
    on.wait_for_end_of(job)
    on.true_soon([killed])
    on.true_soon([doubted], since=in_doubt)
    assert on.states([killed, doubted]) == ["failed", "running"]
    on.stage.db.execute("DELETE FROM faults")
    on.true_soon([killed, doubted])
    (Path(read(on, [doubted])[0]["folder"]) / HURRY).touch()
    on.all_done([doubted], 60)
    on.all_is_well([killed], "failed")
    assert [run["attempt"] for run in read(on, [killed, doubted])] == [1, 1]


@pytest.mark.long
def test_without_squeue_nobody_says_that_a_job_was_not_taken(on: OnStandIn) -> None:
    """Forces the fault: an sbatch times out without handing the job in, while squeue is down; sacct knows no such job,
    as it would not if it were late."""
    on.stage.set_fault("sbatch", "timeout", times=1)
    (run_id,) = on.post()
    on.wait_for_spent_fault("sbatch")
    on.stage.set_fault("squeue", "down")  # not before: nothing is submitted while it is seen to be down
    on.wait_for_calls("sacct")  # asked by name: no other run is there to be asked about
    on.wait_for_calls("squeue")
    assert on.states([run_id]) == ["submitting"]
    on.stage.set_fault("squeue", None)
    on.true_soon([run_id])
    on.all_done([run_id], 60)
    assert read(on, [run_id])[0]["attempt"] == 2


@pytest.mark.long
def test_a_command_that_hangs_for_longer_than_we_wait_ends_no_run(on: OnStandIn) -> None:
    """Forces the fault: squeue, sacct and scontrol take 25 s, and are given up after 20. It ends with the last call."""
    run_ids = on.post(2, epochs=500)
    wait_for("two jobs", lambda: on.states(run_ids) == ["running"] * 2)
    commands = ("squeue", "sacct", "scontrol")
    for command in commands:
        on.stage.set_fault(command, "slow=25")
    wait_for("a look that was given up", lambda: all(run["unknown_since"] for run in read(on, run_ids)), 120)
    assert [(run["state"], run["attempt"]) for run in read(on, run_ids)] == [("running", 1)] * 2
    on.stage.db.execute("DELETE FROM faults")
    wait_for("the last hanging command", lambda: not on.is_called(*commands), 30)
    on.true_soon(run_ids)
    assert [(run["state"], run["attempt"]) for run in read(on, run_ids)] == [("running", 1)] * 2
    for run in read(on, run_ids):
        (Path(run["folder"]) / HURRY).touch()
    on.all_done(run_ids, 60)


@pytest.mark.parametrize("accounting", ["late", "down", pytest.param("none", marks=pytest.mark.long)])
def test_without_an_accounting_that_is_up_to_date_ends_are_known_all_the_same(on: OnStandIn, accounting: str) -> None:
    """Forces the fault: slurmdbd is minutes late, or down, or there is none; one job ends well, one is killed."""
    if accounting == "late":
        on.stage.set("sacct_late_s", 300)
    elif accounting == "down":
        on.stage.set_fault("sacct", "down")
    else:
        on.stage.set("accounting", 0)
    (well,), (killed,) = on.post(), on.post(epochs=100)
    wait_for("both jobs", lambda: on.states([killed]) == ["running"])
    job = on.job_of(killed)
    on.stage.update(job, requested_end="kill", requested_at=0)
    on.wait_for_end_of(job)
    on.true_soon([well, killed])
    on.all_done([well])
    on.all_is_well([killed], "failed")
