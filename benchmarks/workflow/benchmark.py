"""What the service adds to the critical path of a workflow, and what a second time costs: `make bench NAME=workflow`.

The workflow has 100 steps in ten levels, a fan-out of 64 among them; each run sleeps for a given time and writes a
file. It is carried out three times: at first; a second time, in which every run has a result; and a third time, after
one byte of one of the two input files changed. The same graph by `sbatch --dependency=afterok` is measured before and
after.

The benchmark needs a lab with at least 64 CPUs (python -m lab up --gpu-hosts 16) and its environment.
"""

import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx

from benchmarks.submission.service import output, post, queued, service, slurm_calls
from benchmarks.workflow.hundred_steps import FAN, descendants, document, levels, submit_by_hand
from bigbatch.client import Client

RESULT = Path(__file__).parents[1] / "results" / "workflow.json"
SLEEP_S, PATIENCE_S = 10.0, 900.0
ENDED = ("done", "failed", "skipped", "cancelled")


def main() -> None:
    """Measure, print the figures and write the report."""
    if not os.environ.get("SLURM_CONF"):
        sys.exit('SLURM_CONF is not set; start the lab: python -m lab up --gpu-hosts 16; eval "$(python -m lab env)"')
    with tempfile.TemporaryDirectory(prefix="bigbatch-workflow-") as home:
        report = measure(Path(home))
    about = {
        "machine": {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()},
        "versions": {"python": platform.python_version(), "submitit": version("submitit")},
        "slurm": output("sinfo", "-V"),
    }
    text = json.dumps({**about, **report}, indent=1)
    RESULT.write_text(f"{text}\n")
    print(text)


def measure(home: Path) -> dict[str, Any]:
    """Return the sections of the report."""
    first, second = home / "first.txt", home / "second.txt"
    first.write_text("a")
    second.write_text("b")
    path_s = SLEEP_S * levels()
    found: dict[str, Any] = {"load": os.getloadavg()[0], "sleep_s": SLEEP_S, "levels": levels(), "path_s": path_s}
    by_hand = [_by_hand()]
    with service(home) as (client, _):
        code = _snapshot(client, home)
        spec = document(first, second, SLEEP_S, code)
        found["first"] = _carry_out(client, spec)
        found["again"] = _carry_out(client, spec)
        first.write_text("c")
        found["byte_changed"] = _carry_out(client, spec)
    by_hand.append(_by_hand())
    found["by_hand_s"] = by_hand
    runs = found["first"]["longest_runs_s"]
    allowed = 1.15 * path_s + 2 * levels()
    ratios = {"to_allowed": found["first"]["seconds"] / allowed, "to_runs": found["first"]["seconds"] / runs}
    return {**found, "allowed_s": allowed, **ratios, "to_by_hand": found["first"]["seconds"] / statistics.mean(by_hand)}


def _by_hand() -> float:
    """Return the seconds from the first sbatch to the end of the last job."""
    began = time.monotonic()
    submit_by_hand(SLEEP_S)
    while queued():
        time.sleep(0.2)
    return time.monotonic() - began


def _snapshot(client: httpx.Client, home: Path) -> str:
    """Store a code snapshot of one file; return its hash: a program without one is never reused."""
    folder = home / "code"
    folder.mkdir()
    (folder / "about.txt").write_text("the commands of the workflow need no file\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    with Client(str(client.base_url), token=(home / "token").read_text()) as own:
        return own.snapshot(folder).hash


def _carry_out(client: httpx.Client, spec: dict[str, Any]) -> dict[str, Any]:
    """POST the workflow; return how long it took, and which of its runs were carried out and why."""
    calls = slurm_calls(client).get("sbatch", 0)
    began = time.time()
    experiment_id = post(client, spec)["id"]
    posted_s = time.time() - began
    while True:
        graph = client.get(f"/api/v1/experiments/{experiment_id}/steps").raise_for_status().json()
        if all(step["state"] in ENDED for step in graph["steps"]):
            break
        assert time.time() - began < PATIENCE_S, Counter(step["state"] for step in graph["steps"])
        time.sleep(0.25)
    seconds = max(datetime.fromisoformat(step["ended_at"]).timestamp() for step in graph["steps"]) - began
    states = Counter(step["state"] for step in graph["steps"])
    assert states == {"done": 100}, states
    runs = _runs(client, experiment_id, [step["name"] for step in graph["steps"]])
    carried_out = {step for step, own in runs.items() if any(run["attempt"] > 0 for run in own)}
    unexpected = sorted(carried_out ^ descendants())
    return {
        "seconds": seconds,
        "posted_s": posted_s,
        "calls_of_sbatch": slurm_calls(client).get("sbatch", 0) - calls,
        "steps_carried_out": len(carried_out),
        "steps_other_than_descendants": len(unexpected),
        "runs_carried_out": sum(run["attempt"] > 0 for own in runs.values() for run in own),
        "longest_runs_s": _longest(runs),
        "parts_of_levels_s": _parts(runs, began),
        "why": _reasons(client, runs, ("list", "fan", "report")),
    }


def _runs(client: httpx.Client, experiment_id: int, steps: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the runs of each step."""

    def runs_of(step: str) -> list[dict[str, Any]]:
        asked: dict[str, str | int] = {"step": step, "limit": FAN}
        page = client.get(f"/api/v1/experiments/{experiment_id}/runs", params=asked).raise_for_status().json()
        return [client.get(f"/api/v1/runs/{one['id']}").raise_for_status().json() for one in page["items"]]

    return {step: runs_of(step) for step in steps}


def _longest(runs: dict[str, list[dict[str, Any]]]) -> float:
    """Return the seconds of the longest way through the workflow, by the time that runs were in the state running."""
    longest = {step: max((_ran_s(run) for run in own), default=0.0) for step, own in runs.items()}
    by_level: dict[str, float] = {}
    for step, seconds in longest.items():
        level = step.partition("_")[0]
        by_level[level] = max(by_level.get(level, 0.0), seconds)
    by_level["list"] = max(by_level["list"], by_level.pop("other"))
    return sum(by_level.values())


def _parts(runs: dict[str, list[dict[str, Any]]], began: float) -> dict[str, dict[str, float]]:
    """Return of each level when its runs were queued, submitted, running and done, in seconds since the POST.

    `queued` and `submitting` are the moments of the level's first run, the other ones are of its last run.
    """
    found: dict[str, dict[str, float]] = {}
    for step, own in runs.items():
        level = found.setdefault(step.partition("_")[0], {})
        for at in (_moves(run) for run in own if run["attempt"] > 0):
            for state in ("queued", "submitting", "pending", "running", "done"):
                if state in at:
                    chosen = min if state in ("queued", "submitting") else max
                    level[state] = round(chosen(level.get(state, at[state] - began), at[state] - began), 2)
    return found


def _moves(run: dict[str, Any]) -> dict[str, float]:
    return {move["new"]: datetime.fromisoformat(move["at"]).timestamp() for move in run["moves"]}


def _ran_s(run: dict[str, Any]) -> float:
    at = _moves(run)
    return at["done"] - at["running"] if "running" in at else 0.0


def _reasons(client: httpx.Client, runs: dict[str, list[dict[str, Any]]], steps: tuple[str, ...]) -> dict[str, str]:
    """Return why the first run of each of these steps was carried out or not."""
    return {
        step: client.get(f"/api/v1/runs/{runs[step][0]['id']}/reuse").raise_for_status().json()["sentence"]
        for step in steps
    }
