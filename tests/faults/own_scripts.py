"""`python -m tests.faults.own_scripts --runs 20`: an unmodified DDP script on two hosts of the lab, struck once a run.

Half of the runs use srun, half torchrun, on 2 hosts x 2 ranks. Each run has one fault: a preemption, a host that dies,
or a killed part of the service. At the end every run must be done, with one claim per attempt, every step once on its
curve, and lost steps that are counted exactly. Exit status 1 otherwise.
"""

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from contract.folder.run_folder import RunFolder
from lab.state_folder import selected_folder
from tests.testing.faults import lab as hand
from tests.testing.faults.audit import audit, events, hosts_of
from tests.testing.faults.ddp_script import PATTERN, SCRIPT
from tests.testing.servers import wait_for
from tests.testing.service import ENDED, Service, running

STEPS = 120
FAULTS, PARTS = ("preemption", "host", "service"), ("worker", "api", "clock")


def spec_of(launcher: str, script: Path) -> str:
    command = ["python", str(script), "--lr", "{lr}", "--steps", str(STEPS), "--snapshot", "{run_folder}/snapshot.pt"]
    base = {
        "kind": "program",
        "command": command,
        "launcher": launcher,
        "parameters": {"lr": 0.05},
        "environment": {"venv": str(Path(sys.executable).parents[1])},
        "metrics": [{"kind": "output", "pattern": PATTERN}],
        "steps": STEPS,
        "resources": {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2, "minutes": 30},
        "retries": {"backoff_s": 1},
    }
    return json.dumps({"name": f"own script by {launcher}", "base": base})


def strike(service: Service, run: dict[str, Any], fault: str, part: str) -> None:
    """Let one fault befall the run or the service, and mend it."""
    if fault == "preemption":
        hand.preempt(hosts_of(run)[0])
    elif fault == "host":
        hand.kill_host(hosts_of(run)[-1])
        wait_for("the end of the job", lambda: not hand.is_under_way(run["job_id"]), 240)
        hand.mend()
    else:
        service.kill(part)
        time.sleep(3)  # for so long the part is away
        service.start(part)
        service.wait_for_api()


def faults_of(run: dict[str, Any]) -> list[str]:
    """Return what must not be: a missing claim, a step twice, a wrong number of lost steps."""
    folder, found = Path(run["folder"]), []
    claims = [RunFolder(folder).read_claim(attempt) for attempt in range(1, run["attempt"] + 1)]
    if None in claims or len(set(claims)) != len(claims):
        found.append(f"run {run['id']}: the claims are {claims}")
    reached = 0
    for event in events(folder):
        if event["kind"] == "points":
            reached = max(reached, event["step"])
        if event["kind"] == "resumed" and event["lost_steps"] != max(0, reached - event["step"]):
            found.append(f"run {run['id']}: {event} after step {reached}")
    return found


def carry_out(service: Service, script: Path, options: argparse.Namespace, began: float) -> list[str]:
    """Post and strike the runs one after the other; return the faults."""
    cases = itertools.cycle(itertools.product(options.faults, ("srun", "torchrun")))
    run_ids, struck, parts = [], Counter[str](), itertools.cycle(PARTS)
    for (fault, launcher), part in itertools.islice(zip(cases, parts, strict=False), options.runs):
        (run_id,) = service.post_until_answered(spec_of(launcher, script))
        run_ids.append(run_id)
        service.wait_until(run_id, step=15, patience_s=300)
        strike(service, dict(service.get(f"/runs/{run_id}")), fault, part)
        struck[f"{launcher}, {fault}"] += 1
        run = service.wait_for_end(run_id, 600)
        print(f"run {run_id} by {launcher}, {fault}: {run['state']} in attempt {run['attempt']}", flush=True)
    print(f"struck: {dict(struck)}")
    runs_now = [service.get(f"/runs/{run_id}") for run_id in run_ids]
    found = audit(service, run_ids, lambda: hand.accounting(began))
    lost = sum(restart["lost_steps"] for run in runs_now for restart in run["restarts"])
    print(
        f"{found.finished} of {found.submitted} done, {len(found.doubled)} doubled; {found.written} steps written, "
        f"{found.stored} stored; {lost} steps lost in {sum(len(run['restarts']) for run in runs_now)} restarts"
    )
    return [*found.faults, *(fault for run in runs_now for fault in faults_of(run))]


def main() -> int:
    """Start the lab and the service, carry the runs out, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--faults", nargs="+", default=FAULTS, choices=FAULTS)
    options = parser.parse_args()
    home, began = Path(tempfile.mkdtemp(prefix="own-scripts-")), time.time()
    script = home / "train.py"
    script.write_text(SCRIPT)
    hand.mend()
    settings = {"SLURM_CONF": str(selected_folder().slurm_conf), "BIGBATCH_SLURM": "true"}
    settings |= {"BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1"}
    with running(home / "home", settings) as service:
        faults = carry_out(service, script, options, began)
        still = [run for run in service.get("/runs")["items"] if run["state"] not in ENDED]
    print("\n".join(faults) or "no fault was found")
    if not faults:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if faults or still else 0


if __name__ == "__main__":
    sys.exit(main())
