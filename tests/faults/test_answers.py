"""Answers of Slurm that are empty, partial, garbage, late or none: they end no run, and what is told is true soon."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import STEPS_PER_EPOCH, TRUE_WITHIN_S, OnStandIn
from tests.faults.light import HURRY
from tests.servers import wait_for

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
        looks = on.stage.calls("squeue")
        for command in ("squeue", "sacct", "scontrol"):
            on.stage.switch(command, fault)
        wait_for(f"a look with {fault}", lambda looks=looks: on.stage.calls("squeue") > looks, 60)  # type: ignore[misc]
        time.sleep(4)
        assert on.states(run_ids) == ["running"] * 3, fault
    on.stage.db.execute("DELETE FROM faults")
    wait_for("certainty", lambda: all(run["unknown_since"] is None for run in read(on, run_ids)), TRUE_WITHIN_S)
    for run in read(on, run_ids):
        (Path(run["folder"]) / HURRY).touch()
    on.all_done(run_ids, 120)
    assert [run["attempt"] for run in read(on, run_ids)] == [1, 1, 1]
    assert read(on, run_ids)[0]["step"] == 500 * STEPS_PER_EPOCH


def read(on: OnStandIn, run_ids: list[int]) -> list[dict[str, Any]]:
    return [on.service.get(f"/runs/{run_id}") for run_id in run_ids]


@pytest.mark.parametrize("accounting", ["late", "down", pytest.param("none", marks=pytest.mark.long)])
def test_without_an_accounting_that_is_up_to_date_ends_are_known_all_the_same(on: OnStandIn, accounting: str) -> None:
    """Forces the fault: slurmdbd is minutes late, or down, or there is none; one job ends well, one is killed."""
    if accounting == "late":
        on.stage.set("sacct_late_s", 300)
    elif accounting == "down":
        on.stage.switch("sacct", "down")
    else:
        on.stage.set("accounting", 0)
    (well,), (killed,) = on.post(), on.post(epochs=100)
    wait_for("both jobs", lambda: on.states([killed]) == ["running"])
    on.stage.change(on.job_of(killed), wish="kill", wished=0)
    wait_for("the end of the killed one", lambda: on.states([killed]) == ["failed"], TRUE_WITHIN_S)
    on.all_done([well])
    on.all_is_well([killed], "failed")
