"""What a real Slurm does to jobs of own programs: preemption with a grace, failing prologs, scancel, a lost start."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.state_folder import selected_folder
from tests.testing.faults import lab as hand
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = [pytest.mark.slurm, pytest.mark.long]
OBEYS = "touch begun-$BIGBATCH_ATTEMPT; exec sleep 300"
DEAF = "trap '' TERM; touch begun-$BIGBATCH_ATTEMPT; while :; do sleep 1; done"
PAUSES = "trap 'exit 4' TERM; touch begun-$BIGBATCH_ATTEMPT; while :; do sleep 0.1; done"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, lab: dict[str, str]) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("slurm"), {**lab, "BIGBATCH_SLURM": "true"}) as service:
        yield service


def post(service: Service, command: str, *, seeds: int = 1, **resources: Any) -> list[int]:
    """Post runs of a shell command on one host each, and return them."""
    base = {
        "kind": "program",
        "command": command,
        "parameters": {"seed": 0},
        "resources": {"kind": "slurm", "partition": "gpu", "nodes": 1, "ranks_per_node": 2, **resources},
        "retries": {"backoff_s": 1},
    }
    axes = {"parameters.seed": list(range(seeds))} if seeds > 1 else {}
    return list(service.post(json.dumps({"name": "on the lab", "base": base, "axes": axes})))


def view(service: Service, run_id: int) -> dict[str, Any]:
    return dict(service.get(f"/runs/{run_id}"))


def has_begun(service: Service, run_id: int, attempt: int = 1) -> bool:
    return (Path(view(service, run_id)["folder"]) / f"begun-{attempt}").exists()


def host_of(job_id: str) -> str:
    return hand.answered("squeue", "-h", "-j", job_id, "-o", "%N").strip()


def stop(service: Service, *run_ids: int) -> None:
    for run_id in run_ids:
        service.stop(run_id)
    for run_id in run_ids:
        assert service.wait_for_end(run_id, 120)["state"] == "cancelled", service.story(run_id)


@pytest.mark.parametrize(
    ("partition", "command"),
    [(partition, command) for partition in ("grace", "cancel", "gpu") for command in (OBEYS, DEAF, PAUSES)],
    ids=[f"{partition} {kind}" for partition in ("grace", "cancel", "gpu") for kind in ("obeys", "deaf", "pauses")],
)
def test_a_preempted_program_is_tried_again_whatever_it_does_with_the_signal(
    service: Service, partition: str, command: str
) -> None:
    """Forces the fault: a job of the higher partition takes the host, with a grace of 30 s or without."""
    (run_id,) = post(service, command, partition=partition)
    wait_for("the program", lambda: has_begun(service, run_id), 120)
    hand.preempt(host_of(view(service, run_id)["job_id"]), seconds=1)
    wait_for("the next attempt", lambda: has_begun(service, run_id, 2), 300)
    (first, *_) = view(service, run_id)["attempts"]
    assert first["cause"] == "preempted", service.story(run_id)
    assert "NonZeroExitCode" not in str(first["reason"]), first["reason"]
    stop(service, run_id)


def test_a_run_that_was_requeued_says_so(service: Service) -> None:
    (run_id,) = post(service, OBEYS)
    wait_for("the program", lambda: has_begun(service, run_id), 120)
    hand.requeue(view(service, run_id)["job_id"])
    wait_for("the next attempt", lambda: has_begun(service, run_id, 2), 300)
    (first, *_) = view(service, run_id)["attempts"]
    assert (first["cause"], "requeued" in first["reason"]) == ("preempted", True), first["reason"]
    stop(service, run_id)


@pytest.mark.ring("gate")
def test_a_run_whose_host_refuses_it_goes_on_elsewhere(service: Service) -> None:
    """Forces the fault: the prolog of a host fails, and Slurm drains the host and cancels the job."""
    host = hand.first_choice()
    failing = selected_folder().failing_prologs
    failing.write_text(f"{host}\n")
    try:
        (run_id,) = post(service, OBEYS)
        wait_for("the next attempt", lambda: has_begun(service, run_id, 2), 120)
    finally:
        failing.unlink()
        hand.slurm("scontrol", "update", f"NodeName={host}", "State=RESUME")
    (first, *_) = view(service, run_id)["attempts"]
    assert (first["cause"], first["hosts"]) == ("node_failure", [host]), service.story(run_id)
    assert host_of(view(service, run_id)["job_id"]) != host
    assert "prolog" in first["reason"], first["reason"]
    stop(service, run_id)


def test_scancel_of_one_pending_task_of_an_array_cancels_its_run_alone(service: Service) -> None:
    """Forces the fault: squeue and sacct have no line of such a task."""
    run_ids = post(service, OBEYS, seeds=3, options={"begin": "now+1hour"})
    wait_for("the jobs", lambda: all(view(service, run_id)["job_id"] for run_id in run_ids), 120)
    jobs = [view(service, run_id)["job_id"] for run_id in run_ids]
    assert len({job.partition("_")[0] for job in jobs}) == 1, "they are tasks of one array"
    hand.slurm("scancel", jobs[1])
    run = service.wait_for_end(run_ids[1], 180)
    assert (run["state"], run["attempt"]) == ("cancelled", 1), service.story(run_ids[1])
    assert [view(service, run_id)["state"] for run_id in (run_ids[0], run_ids[2])] == ["pending"] * 2
    stop(service, run_ids[0], run_ids[2])


def test_a_controller_that_crashes_as_jobs_start_cancels_no_run(service: Service) -> None:
    """Forces the fault: SIGKILL to slurmctld as soon as squeue shows the jobs as running; it is back a second later."""
    run_ids = post(service, "for i in $(seq 100); do sleep 0.1; done", seeds=4)

    def are_running() -> bool:
        jobs = [view(service, run_id)["job_id"] for run_id in run_ids]
        return all(job and hand.is_under_way(job, "RUNNING") for job in jobs)

    wait_for("four jobs that run", are_running, 120)
    hand.kill_daemon("slurmctld")
    time.sleep(1)
    hand.mend()
    states = [service.wait_for_end(run_id, 400)["state"] for run_id in run_ids]
    assert states == ["done"] * 4, [service.story(run_id) for run_id in run_ids]
