"""Metrics of an own script from `bigbatch.log`, `bigbatch.wandb` and its output to the API, on the embedded service."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.testing.servers import wait_for
from tests.testing.service import ENDED, Service

pytestmark = pytest.mark.flow

SCRIPT = """
import os, sys
import bigbatch
from bigbatch import wandb
first = 31 if bigbatch.resuming else 1
wandb.init()
for step in range(first, 51):
    bigbatch.log(step=step, loss=bigbatch.config.lr / step)
    if step == 30 and os.environ["RANK"] == "0":
        (bigbatch.checkpoint_folder / "last").write_text("30")
    if step == 40 and first == 1 and os.environ["RANK"] == "0":
        sys.exit("no luck in the first attempt")
wandb.log({"final": 1.0})
"""


def points(service: Service, run_id: int, name: str) -> list[int]:
    found: dict[str, Any] = service.get(f"/runs/{run_id}/points", name=name)
    return list(found["series"][name]["steps"]) if name in found["series"] else []


def test_a_script_logs_on_every_rank_over_two_attempts(embedded: Service, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    base = {
        "kind": "program",
        "command": ["python3", "-S", str(script)],
        "parameters": {"lr": 0.5},
        "resources": {"kind": "local", "ranks_per_node": 2},
        "retries": {"failure": 1, "backoff_s": 0},
        "steps": 51,
    }
    (run_id,) = embedded.post(json.dumps({"name": "logs", "base": base}))
    wait_for("the end", lambda: embedded.get(f"/runs/{run_id}")["state"] in ENDED, 300)
    run = embedded.get(f"/runs/{run_id}")
    assert (run["state"], run["attempt"], run["step"]) == ("done", 2, 51)
    assert points(embedded, run_id, "loss") == list(range(1, 51))
    assert set(range(31, 51)) <= set(points(embedded, run_id, "loss/rank-1"))
    assert points(embedded, run_id, "final") == [51]
    (restart,) = run["restarts"]
    assert (restart["step"], restart["lost_steps"]) == (30, 10)
