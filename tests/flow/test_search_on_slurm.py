"""A search whose trials are jobs of Slurm: kill -9 of its worker, and no allocation after its end."""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.flow.test_search import finished, newest, note_ends
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

pytestmark = [pytest.mark.flow, pytest.mark.slurm, pytest.mark.long]
MOST_HELD_S = 10.0  # after the last trial's end
TRIALS = 6
SPEC = {
    "name": "trials on the lab",
    "base": {
        "data": {"kind": "digits"},
        "model": {"kind": "import", "function": "tests.testing.trainers.slow_net:net", "options": {"seconds": 0.03}},
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "polynomial", "rate": 0.1},
        "batch": 128,
        "epochs": 9,
        "device": "cpu",
        "resources": {"kind": "slurm", "partition": "gpu", "nodes": 1, "ranks_per_node": 1, "minutes": 30},
    },
    "search": {
        "space": {"schedule.rate": {"kind": "log_uniform", "low": 0.001, "high": 3.0}},
        "sampler": {"kind": "random", "seed": 5},
        "metric": "heldout_loss",
        "trials": TRIALS,
        "at_once": 3,
        "early_stopping": {"kind": "asha", "first": 1, "reduction": 3},
    },
}


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory, lab: dict[str, str]) -> Iterator[Service]:
    settings = {**lab, "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1"}
    with running(tmp_path_factory.mktemp("trials"), settings) as service:
        yield service


def jobs(lab: dict[str, str]) -> list[str]:
    """Return the jobs that hold or await an allocation."""
    command = ["squeue", "--noheader", "--format=%i %T"]
    found = subprocess.run(command, env={**os.environ, **lab}, check=True, capture_output=True, text=True)
    return found.stdout.splitlines()


def test_no_allocation_is_held_after_the_last_trial_however_often_the_worker_was_killed(
    service: Service, lab: dict[str, str]
) -> None:
    """Forces the fault: kill -9 of the worker after each of the first three trials."""
    wait_for("an empty queue", lambda: not jobs(lab), 60)
    service.post(json.dumps(SPEC))
    id_ = newest(service)
    ended: dict[int, object] = {}
    for number in range(1, 4):
        wait_for(f"{number} ends", partial(lambda number: len(note_ends(service, id_, ended)) >= number, number), 300)
        service.kill("worker")
        service.start("worker")
    found = finished(service, id_)
    note_ends(service, id_, ended)
    last = max(datetime.fromisoformat(trial["ended_at"]) for trial in found["trials"])
    assert (found["end_cause"], len(found["trials"]), len(ended)) == ("trials", TRIALS, TRIALS)
    wait_for("the end of the last allocation", lambda: not jobs(lab), 60)
    held_s = (datetime.now(UTC) - last).total_seconds()
    print(f"the last allocation ended {held_s:.1f} s after the last trial")
    assert held_s <= MOST_HELD_S
