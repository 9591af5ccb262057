"""`make chaos-workflow KILLS=n SEED=s`: kills of service parts, servers, Slurm's daemons, hosts and agents meanwhile.

Workflows of 100 steps with a fan-out of 64 are carried out on the lab, one after the other, until so many kills have
been made. Then every step must be done with its runs once, every attempt begun once, and every file be what it would be
without a kill. The seed fixes what is killed, not the moments.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab import layout
from lab.state_folder import selected_folder
from tests.faults.chaos import make_field
from tests.testing.faults import lab
from tests.testing.faults.audit import submitted_twice
from tests.testing.faults.field import Field
from tests.testing.faults.mishaps import MISHAPS
from tests.testing.servers import wait_for
from tests.testing.workflow_chains import FAN, Chains, expected_report

KILLS = (
    *("worker killed", "second worker killed", "clock killed", "API killed", "PostgreSQL restarted"),
    *("Redis flushed and restarted", "slurmctld killed", "slurmdbd killed", "host killed", "agent killed"),
)
REPORT = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos_workflow.json"
PAUSE_S = (0.0, 2.0)  # between two kills
END_WITHIN_S = 900.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=KILLS, default=KILLS, metavar="FAULT")
    parser.add_argument("--keep", type=Path, help="new folder for run folders and logs if a fault is found")
    asked = parser.parse_args()
    was_up = layout.load(selected_folder().layout) is not None
    subprocess.run([sys.executable, "-m", "lab", "up"], check=True, stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory(prefix="bigbatch-chaos-") as home:
            found = storm(Path(home), asked.kills, asked.seed, asked.only)
            if asked.keep and found["faults"]:
                shutil.copytree(home, asked.keep, symlinks=True)
                shutil.copytree(selected_folder().root / "log", asked.keep / "slurm-logs")
    finally:
        if not was_up:
            subprocess.run([sys.executable, "-m", "lab", "down"], check=True)
    text = json.dumps(found, indent=1)
    REPORT.write_text(f"{text}\n")
    print(text)
    return 1 if found["faults"] else 0


def storm(home: Path, kills: int, seed: int, only: Sequence[str] = KILLS) -> dict[str, Any]:
    """Carry out workflows until so many kills were made and the last workflow has ended; return what was counted."""
    began, dice, struck = time.time(), random.Random(seed), Counter[str]()
    with ExitStack() as stack:
        field = make_field(stack, home, dice)
        workflows = [_post(field)]
        while sum(struck.values()) < kills:
            time.sleep(dice.uniform(*PAUSE_S))
            name = dice.choice(only)
            if _strike(field, name):
                struck[name] += 1
                print(f"{time.strftime('%T')} {sum(struck.values())}: {name}", flush=True)
            field.restart_ended_workers()
            if _has_ended(field, workflows[-1]):
                workflows.append(_post(field))
        lab.mend()

        def has_ended() -> bool:
            field.restart_ended_workers()
            return _has_ended(field, workflows[-1])

        wait_for("the end of the last workflow", has_ended, END_WITHIN_S)
        audits = [_audit(field, workflow) for workflow in workflows]
        faults = [fault for audit in audits for fault in audit.pop("faults")]
        faults += submitted_twice(lambda: lab.accounting(began))
    total = {name: sum(audit[name] for audit in audits) for name in audits[0]}
    return {
        "seed": seed,
        "load": os.getloadavg()[0],
        "seconds": round(time.time() - began),
        "workflows": len(workflows),
        "struck": dict(sorted(struck.items())),
        **total,
        "faults": faults,
    }


def _post(field: Field) -> int:
    chains = Chains(ledger=field.ledger)
    (*_, run_id) = field.service.post_until_answered(json.dumps(chains.document()))
    experiment_id: int = _ask(field, f"/runs/{run_id}")["experiment_id"]
    return experiment_id


def _strike(field: Field, name: str) -> bool:
    try:
        return MISHAPS[name](field)
    except Exception as error:  # a part that is needed for the kill was killed a moment ago
        print(f"{name} was not possible: {error!r:.200}", flush=True)
        return False


def _ask(field: Field, path: str, **query: Any) -> Any:
    """Ask until the API answers."""
    until = time.monotonic() + 120
    while True:
        try:
            return field.service.get(path, **query)
        except Exception:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _has_ended(field: Field, experiment_id: int) -> bool:
    steps = _ask(field, f"/experiments/{experiment_id}/steps")["steps"]
    return all(step["state"] not in ("waiting", "running") for step in steps)


def _audit(field: Field, experiment_id: int) -> dict[str, Any]:
    """Count the steps, runs and attempts of a workflow that has ended; name what must not be."""
    faults, attempts, runs = list[str](), 0, 0
    steps = _ask(field, f"/experiments/{experiment_id}/steps")["steps"]
    for step in steps:
        where = f"step {step['name']} of experiment {experiment_id}"
        if step["state"] != "done":
            faults.append(f"{where} is {step['state']}: {step['reason']}")
            faults += _why(field, experiment_id, step["name"])
            continue
        found = _ask(field, f"/experiments/{experiment_id}/runs", step=step["name"], limit=200)["items"]
        if len(found) != (FAN if step["name"] == "fan" else 1):
            faults.append(f"{where} has {len(found)} runs")
        for view in found:
            run = _ask(field, f"/runs/{view['id']}")
            begun = (field.ledger / Path(run["folder"]).name).read_text().split()
            if run["state"] != "done" or len(set(begun)) != len(begun) or begun != sorted(begun, key=int):
                faults.append(f"run {run['id']} of {where} is {run['state']}, and its attempts began as {begun}")
            attempts, runs = attempts + len(begun), runs + 1
            text = (Path(run["folder"]) / "out.txt").read_text()
            if step["name"] == "report" and text != expected_report():
                faults.append(f"the report of experiment {experiment_id} is wrong: {text[:200]}")
    return {"steps": len(steps), "runs": runs, "attempts": attempts, "faults": faults}


def _why(field: Field, experiment_id: int, step: str) -> list[str]:
    """Return the moves and causes of the first run of a step that is not done."""
    found = _ask(field, f"/experiments/{experiment_id}/runs", step=step, limit=200)["items"]
    views = [_ask(field, f"/runs/{view['id']}") for view in found if view["state"] != "done"][:1]
    return [
        f"run {run['id']}, job {run['job_id']}: {run['reason']}; {[part['cause'] for part in run['attempts']]}; "
        + ", ".join(f"{move['at'][11:19]} {move['new']}" for move in run["moves"])
        for run in views
    ]


if __name__ == "__main__":
    sys.exit(main())
