"""The clocks of jobs' hosts are ten minutes off: no run is lost, and what signs of life tell is not misread."""

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.testing.faults.audit import events
from tests.testing.faults.light import AHEAD_S, HURRY
from tests.testing.faults.on_fake_slurm import OnStandIn, a_minute_later
from tests.testing.servers import wait_for

pytestmark = [pytest.mark.flow, pytest.mark.long]
OFF_S = 600


def test_jobs_whose_hosts_have_false_clocks_are_neither_lost_nor_held_to_live_on(on: OnStandIn) -> None:
    """Forces the fault: events, claim and signs of life bear a time ten minutes ahead in one run, behind in another.
    Slurm then forgets both jobs, so that their signs of life are all there is, and the one ahead is killed."""
    ahead, behind = training(on, OFF_S), training(on, -OFF_S)
    job = on.job_of(ahead)
    a_minute_later(on.service)
    for command, fault in (("squeue", "empty"), ("sacct", "empty"), ("scontrol", "forget")):
        on.stage.set_fault(command, fault)
    on.wait_for_calls("scontrol")
    forgotten = time.monotonic()
    wait_for("longer than a doubt lasts", lambda: time.monotonic() - forgotten > 40)
    assert [(run["state"], run["attempt"]) for run in read(on, ahead, behind)] == [("running", 1)] * 2
    on.stage.update(job, requested_end="kill", requested_at=0)
    on.wait_for_end_of(job)
    # a job that nobody knows counts as gone after 45 s of silence and 30 s of doubt, by what looks there are
    wait_for("the next attempt", lambda: read(on, ahead)[0]["attempt"] == 2, 400)
    on.stage.db.execute("DELETE FROM faults")
    on.true_soon([ahead, behind])
    for run in read(on, ahead, behind):
        (Path(run["folder"]) / HURRY).touch()
    on.all_done([ahead, behind])
    assert [run["attempt"] for run in read(on, ahead, behind)] == [2, 1]
    begin_worker(on)


def training(on: OnStandIn, off_s: int) -> int:
    """A run that has taken some steps, on a host whose clock is so much ahead: a job inherits what its sbatch has."""
    begin_worker(on, "env", f"{AHEAD_S}={off_s}")
    (run_id,) = on.post(epochs=2000)
    on.service.wait_until(run_id, step=3)
    (run,) = read(on, run_id)
    created = datetime.fromisoformat(run["created_at"]).timestamp()
    ahead_s = events(Path(run["folder"]))[0]["at"] - created
    # the run's submission may wait for a call of Slurm's next minute, so the bound is the time that has passed since
    assert off_s - 1 <= ahead_s <= off_s + time.time() - created
    return run_id


def begin_worker(on: OnStandIn, *before: str) -> None:
    on.service.kill("worker")
    on.service.start("worker", before=before)


def read(on: OnStandIn, *run_ids: int) -> list[dict[str, Any]]:
    return [on.service.get(f"/runs/{run_id}") for run_id in run_ids]
