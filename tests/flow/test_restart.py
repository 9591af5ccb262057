"""Local runs outlive the service: its end pauses them, the next start resumes them, however the service ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from contract.folder.job_identity import host
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = pytest.mark.flow
PARTS = ("api", "worker", "clock")
STEPS = 40 * (1437 // 32)
SPEC = """
name: overnight
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.02}
  batch: 32
  epochs: 40
  checkpoint: {every_steps: 20}
  resources: {kind: local, ranks_per_node: 2}
  retries: {preempted: 0}
"""


# ten epochs, each step 0.03 s: long enough to be killed in, and most of the time no processor works
SLOW = SPEC.replace("epochs: 40", "epochs: 10") + (
    "  model: {kind: import, function: 'tests.testing.trainers.slow_net:net', options: {seconds: 0.03}}\n"
)
SLOW_STEPS = 10 * (1437 // 32)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path, {"BIGBATCH_SLURM": "false", "BIGBATCH_LOCAL_RANKS": "2"}) as it:
        yield it


def end_orderly(service: Service) -> None:
    """End the service as `bigbatch up` does: its parts by SIGTERM, then `scheduler close`."""
    for part in ("clock", "worker", "api"):
        service.processes[part].terminate()
        service.processes[part].wait(120)
    command = [sys.executable, "-m", "scheduler", "close"]
    subprocess.run(command, env=service.environment, check=True, timeout=240)


def start_again(service: Service) -> None:
    for part in PARTS:
        service.start(part)
    service.wait_for_api()


def attempt_trains(service: Service, run_id: int, attempt: int) -> None:
    def trains() -> bool:
        run = service.get(f"/runs/{run_id}")
        return bool(run["attempt"] == attempt and len(run["restarts"]) >= attempt - 1 and run["state"] == "running")

    wait_for(f"attempt {attempt}", trains, patience_s=420)


def whole_curve(service: Service, run_id: int, steps: int = STEPS) -> dict[str, Any]:
    """Wait for the end of a run; assert that it is done with one point per step."""
    run = service.wait_for_end(run_id)
    assert run["state"] == "done", service.story(run_id)
    loss = service.get(f"/runs/{run_id}/points", name="loss")["series"]["loss"]
    assert loss["steps"] == list(range(1, steps + 1))
    return run


def test_the_end_of_the_service_pauses_a_run_and_its_start_resumes_it(service: Service) -> None:
    """Forces the fault: the service ends while one run trains, another has not ended and a person cancelled a third."""
    endless = SPEC.replace("epochs: 40", "epochs: 100000")  # it does not end before its stop
    first, second, third = (service.post(spec)[0] for spec in (SPEC, endless, endless))
    service.stop(third)
    service.wait_until(first, step=25)
    end_orderly(service)
    start_again(service)
    attempt_trains(service, first, 2)
    run = service.get(f"/runs/{first}")
    (pause,) = [move for move in run["moves"] if move["old"] == "running"]
    assert "the service on this machine was shut down, and attempt 2 follows" in pause["reason"]
    assert (run["restarts"][0]["lost_steps"], run["attempts"][0]["cause"]) == (0, "shutdown")
    service.stop(second)
    whole_curve(service, first)
    assert service.wait_for_end(third)["state"] == service.wait_for_end(second)["state"] == "cancelled"


def test_a_run_is_resumed_after_everything_was_killed(service: Service) -> None:
    """Forces the fault: kill -9 of all parts of the service and of the job, as by a power failure."""
    (run_id,) = service.post(SLOW)
    service.wait_until(run_id, step=45)
    for part in PARTS:
        service.kill(part)
    job = psutil.Process(int(_job_id(service, run_id).rpartition(":")[2]))
    os.killpg(job.pid, signal.SIGKILL)
    start_again(service)
    attempt_trains(service, run_id, 2)
    run = whole_curve(service, run_id, SLOW_STEPS)
    assert run["attempts"][0]["cause"] == "lost"
    assert run["restarts"][0]["step"] >= 20


def test_a_run_that_somebody_continues_by_hand_is_found_again_and_can_be_stopped(service: Service) -> None:
    (run_id,) = service.post(SPEC.replace("epochs: 40", "epochs: 100000"))
    service.wait_until(run_id, step=25)
    folder = service.get(f"/runs/{run_id}")["folder"]
    end_orderly(service)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BIGBATCH_")}
    by_hand = subprocess.Popen(
        [sys.executable, "-m", "trainers", folder],
        env=inherited,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for("the claim", lambda: (Path(folder) / "attempts" / "2.json").exists(), patience_s=240)
        start_again(service)
        by_id = f"by-hand@{host()}:{by_hand.pid}"
        wait_for("the adoption", lambda: service.get(f"/runs/{run_id}")["job_id"] == by_id, patience_s=240)
        attempt_trains(service, run_id, 2)
        service.stop(run_id)
        run = service.wait_for_end(run_id)
        assert (run["state"], run["attempt"], by_hand.wait(240)) == ("cancelled", 2, 4), service.story(run_id)
    finally:
        by_hand.kill()
        by_hand.wait()


def _job_id(service: Service, run_id: int) -> str:
    """Return the id of the run's job, which the claim has while no API answers."""
    (folder,) = (Path(service.environment["BIGBATCH_HOME"]) / "runs").glob(f"{run_id:06}-*")
    return str((folder / "attempts" / "1.json").read_text().partition('"job": "')[2].partition('"')[0])
