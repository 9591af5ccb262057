"""Own DDP scripts on a real Slurm, 2 hosts x 2 ranks, by srun and by torchrun: faults, time limits, stopped ranks."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.own_scripts import Case, carry_out, check
from tests.testing.faults import lab as hand
from tests.testing.faults.audit import all_is_well, events
from tests.testing.faults.ddp_script import SCRIPT
from tests.testing.faults.printed_curve import check_claims
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = [pytest.mark.slurm, pytest.mark.long]
RECIPE = Path(__file__).parents[2] / "recipes" / "programs" / "ddp_with_bigbatch.py"
MINUTES = 2  # the limit of an attempt that is to reach it
ENDLESS = 1_000_000


@pytest.fixture(scope="module")
def began() -> float:
    return time.time()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, lab: dict[str, str], began: float) -> Iterator[Service]:
    settings = {**lab, "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1"}
    with running(tmp_path_factory.mktemp("own"), settings) as service:
        yield service


def test_an_unmodified_script_loses_and_doubles_no_step_under_a_fault(
    service: Service, began: float, tmp_path: Path
) -> None:
    """Forces the faults: a preemption under srun, the host of rank 0 killed under torchrun."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    cases = [Case("srun", "preemption", "", 25, 1), Case("torchrun", "host", "", 45, 0)]
    runs = [carry_out(service, script, case) for case in cases]
    assert check(service, cases, runs, began).faults == []


def post_with_bigbatch(service: Service, launcher: str, **fields: Any) -> int:
    """Post the script with three added lines, of more epochs than it will train."""
    words = ["--epochs", str(ENDLESS), "--checkpoint", "{checkpoint_folder}/newest.pt"]
    resources = {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2}
    base = {
        "kind": "program",
        "command": ["python", str(RECIPE), *words],
        "launcher": launcher,
        "environment": {"venv": str(Path(sys.executable).parents[1])},
        "resources": {**resources, **fields.pop("resources", {})},
        "retries": {"backoff_s": 1},
        **fields,
    }
    (run_id,) = service.post(json.dumps({"name": f"with bigbatch, by {launcher}", "base": base}))
    return run_id


def test_with_three_lines_a_script_pauses_before_its_limit_and_goes_on(service: Service, began: float) -> None:
    """Forces the event: both jobs reach their time limit."""
    run_ids = [
        post_with_bigbatch(service, launcher, resources={"minutes": MINUTES}) for launcher in ("srun", "torchrun")
    ]
    for run_id in run_ids:
        wait_for("the first loss", partial(has_loss, service, run_id), 300)
        assert service.get(f"/runs/{run_id}")["state"] == "running", "the loss is shown while the run trains"
    jobs = [service.get(f"/runs/{run_id}")["job_id"] for run_id in run_ids]
    for run_id, job in zip(run_ids, jobs, strict=True):
        wait_for("the restart", partial(resumed, service, run_id), 600)
        paused_before_its_limit(service, run_id, job)
        service.stop(run_id)
    for run_id in run_ids:
        assert service.wait_for_end(run_id)["state"] == "cancelled"
        logged = [line for line in events(folder_of(service, run_id)) if line["kind"] == "points"]
        steps = [line["step"] for line in logged if "loss" in line["values"]]
        assert steps == list(range(1, len(steps) + 1)), "no step is lost or doubled by a pause"
        assert list(check_claims(service.get(f"/runs/{run_id}"))) == []
    all_is_well(service, run_ids, lambda: hand.accounting(began), ends=("cancelled",))


def paused_before_its_limit(service: Service, run_id: int, job: str) -> None:
    """Check that all ranks paused after the same step, and that the next attempt resumed after that step."""
    run, folder = service.get(f"/runs/{run_id}"), folder_of(service, run_id)
    (paused,) = [line for line in events(folder) if line["kind"] == "paused" and line["attempt"] == 1]
    assert (paused["signal"], run["attempts"][0]["cause"]) == ("SIGUSR2", "time_limit"), service.story(run_id)
    assert (run["restarts"][0]["step"], run["restarts"][0]["lost_steps"]) == (paused["saved_step"], 0)
    statuses = [(folder / "attempts" / f"1.exit-{rank}").read_text() for rank in range(4)]
    assert statuses == ["0"] * 4, "the recipe leaves its loop, and every rank ends by itself"
    assert "calls later than the other ranks" not in (folder / "out.log").read_text()
    wait_for("the accounting", lambda: exit_code(job) == "4:0", 120)


def exit_code(job: str) -> str:
    """Return the exit status and the signal of a job's script, as the accounting has them."""
    return hand.answered("sacct", "-X", "-n", "-P", "-j", job, "-o", "ExitCode").strip()


def folder_of(service: Service, run_id: int) -> Path:
    return Path(service.get(f"/runs/{run_id}")["folder"])


def losses_of(service: Service, run_id: int) -> list[int]:
    return list(service.get(f"/runs/{run_id}/points", name="loss")["series"].get("loss", {"steps": []})["steps"])


def has_loss(service: Service, run_id: int) -> bool:
    return bool(losses_of(service, run_id))


def resumed(service: Service, run_id: int) -> bool:
    return bool(service.get(f"/runs/{run_id}")["restarts"])


@pytest.mark.parametrize(("launcher", "rank"), [("srun", 2), ("torchrun", 1)])
def test_a_stopped_rank_of_a_script_on_two_hosts_is_named_with_all_stacks(
    service: Service, launcher: str, rank: int
) -> None:
    """Forces the fault: SIGSTOP to one rank of four."""
    run_id = post_with_bigbatch(service, launcher, stall_minutes=0.1, retries={"failure": 0})
    attempts = folder_of(service, run_id) / "attempts"
    wait_for("all ranks to train", lambda: all(note(attempts, one).get("steps", 0) > 1 for one in range(4)), 300)
    os.kill(note(attempts, rank)["pid"], signal.SIGSTOP)
    run = service.wait_for_end(run_id)
    assert run["state"] == "failed"
    (failed,) = service.get(f"/experiments/{run['experiment_id']}/failures")["items"]
    assert (failed["failure"]["rank"], failed["failure"]["kind"]) == (rank, "collective_timeout"), run["reason"]
    reason = failed["failure"]["reason"]
    assert re.search(r"ddp_with_bigbatch\.py:\d+ in \w+: its process is stopped; ", reason), reason
    # the recipe's ranks meet in the backward pass, and in the barrier after a save
    assert re.search(r"waits? in \w+.* at ddp_with_bigbatch\.py:\d+ in \w+$", reason), reason
    for one in range(4):
        assert "ddp_with_bigbatch.py" in (attempts / f"1.stacks-{one}.txt").read_text()


def note(attempts: Path, rank: int) -> dict[str, int]:
    """Return what a rank has noted about its progress; empty before its first note."""
    try:
        found: dict[str, int] = json.loads((attempts / f"1.progress-{rank}").read_text())
    except FileNotFoundError:
        return {}
    return found
