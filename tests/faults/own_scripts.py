"""`python -m tests.faults.own_scripts --runs 40 --seed 1`: an unmodified DDP script on the lab, struck once a run.

Half of the runs use srun, half torchrun, on 2 hosts x 2 ranks. Each run has one fault at a random step: a preemption, a
host that dies, or a killed part of the service. At the end every run must be done, with one claim per attempt, and the
stored curve and the counted lost steps must be those of the script's own output. Exit status 1 otherwise. With
`--report` the figures are written to a file.
"""

import argparse
import json
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.state_folder import selected_folder
from tests.testing.faults import lab as hand
from tests.testing.faults.audit import Audit, audit, hosts_of
from tests.testing.faults.ddp_script import PATTERN, SCRIPT
from tests.testing.faults.printed_curve import check_claims, check_curve, claims_of
from tests.testing.servers import wait_for
from tests.testing.service import Service, running

STEPS, SAVE_EVERY = 150, 20
FIRST, LAST = 5, 90  # the steps after which a fault may come
LAUNCHERS = ("srun", "torchrun")
FAULTS, PARTS = ("preemption", "host", "service"), ("worker", "api", "clock")
ATTEMPTS = {"preemption": 2, "host": 2, "service": 1}
AWAY_S = 3  # for so long a part of the service is away


class Case(NamedTuple):
    """One run, and the fault that befalls it."""

    launcher: str
    fault: str
    part: str  # of the service, which is killed
    step: int  # after which the fault comes
    host: int  # the number of the host among the run's hosts

    @property
    def name(self) -> str:
        return f"{self.launcher}, {self.part or self.fault}"


def choose_cases(runs: int, seed: int, faults: Sequence[str] = FAULTS) -> list[Case]:
    """Return as many runs by each launcher, with the faults and the parts of the service in turn."""
    dice, cases, killed = random.Random(seed), list[Case](), 0
    for number in range(runs):
        fault = faults[number // len(LAUNCHERS) % len(faults)]
        part = PARTS[killed % len(PARTS)] if fault == "service" else ""
        killed += fault == "service"
        cases.append(
            Case(LAUNCHERS[number % len(LAUNCHERS)], fault, part, dice.randint(FIRST, LAST), dice.randrange(2))
        )
    return cases


def spec_of(launcher: str, script: Path) -> str:
    """Return an experiment of one run of the script, which knows nothing of the service."""
    words = ["--lr", "{lr}", "--steps", str(STEPS), "--save-every", str(SAVE_EVERY)]
    base = {
        "kind": "program",
        "command": ["python", str(script), *words, "--snapshot", "{run_folder}/snapshot.pt"],
        "launcher": launcher,
        "parameters": {"lr": 0.05},
        "environment": {"venv": str(Path(sys.executable).parents[1])},
        "metrics": [{"kind": "output", "pattern": PATTERN}],
        "steps": STEPS,
        "resources": {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2, "minutes": 30},
        "retries": {"backoff_s": 1},
    }
    return json.dumps({"name": f"own script by {launcher}", "base": base})


def strike(service: Service, run: dict[str, Any], case: Case) -> None:
    """Let the fault befall the run or the service, and mend it."""
    host = hosts_of(run)[:: len(hosts_of(run)) // 2][case.host]
    if case.fault == "preemption":
        hand.preempt(host)
    elif case.fault == "host":
        hand.kill_host(host)
        wait_for("the end of the job", lambda: not hand.is_under_way(run["job_id"]), 240)
        hand.mend()
    else:
        service.kill(case.part)
        time.sleep(AWAY_S)
        service.start(case.part)
        service.wait_for_api()


def carry_out(service: Service, script: Path, case: Case) -> dict[str, Any]:
    """Post a run, strike it, and wait for its end; return the run."""
    (run_id,) = service.post_until_answered(spec_of(case.launcher, script))
    service.wait_until(run_id, step=case.step, patience_s=600)
    strike(service, dict(service.get(f"/runs/{run_id}")), case)
    run = service.wait_for_end(run_id, 900)
    print(f"{time.strftime('%T')} run {run_id} by {case.name}: {run['state']} in attempt {run['attempt']}", flush=True)
    return run


def check(service: Service, cases: Sequence[Case], runs: Sequence[dict[str, Any]], began: float) -> Audit:
    """Count the runs and their steps, and return in words all that must not be."""
    found = audit(service, [run["id"] for run in runs], lambda: hand.accounting(began))
    wrong = list(found.faults)
    for case, run in zip(cases, runs, strict=True):
        wrong += [*check_claims(run), *check_curve(service, run, PATTERN)]
        if run["attempt"] != ATTEMPTS[case.fault]:
            wrong.append(f"run {run['id']} by {case.name} has {run['attempt']} attempts: {service.story(run['id'])}")
    return found._replace(faults=wrong)


def report_of(cases: Sequence[Case], runs: Sequence[dict[str, Any]], found: Audit) -> dict[str, Any]:
    """Return the figures of all runs."""
    restarts = [restart for run in runs for restart in run["restarts"]]
    return {
        "machine": {"machine": platform.machine(), "cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1)},
        "struck": dict(sorted(Counter(case.name for case in cases).items())),
        "attempts": sum(run["attempt"] for run in runs),
        "claims": len({(run["id"], claim) for run in runs for claim in claims_of(run)}),
        "restarts": len(restarts),
        "lost_steps": sum(restart["lost_steps"] for restart in restarts),
        **found._asdict(),
        "runs": [
            {**case._asdict(), "attempts": run["attempt"], "lost_steps": [one["lost_steps"] for one in run["restarts"]]}
            for case, run in zip(cases, runs, strict=True)
        ],
    }


def main() -> int:
    """Start the lab and the service, carry the runs out, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", nargs="+", default=FAULTS, choices=FAULTS)
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    home, began = Path(tempfile.mkdtemp(prefix="own-scripts-")), time.time()
    script = home / "train.py"
    script.write_text(SCRIPT)
    hand.mend()
    settings = {"SLURM_CONF": str(selected_folder().slurm_conf), "BIGBATCH_SLURM": "true"}
    settings |= {"BIGBATCH_SLURM_SETUP": "export OMP_NUM_THREADS=1"}
    cases = choose_cases(options.runs, options.seed, options.faults)
    with running(home / "home", settings) as service:
        runs = [carry_out(service, script, case) for case in cases]
        runs = [dict(service.get(f"/runs/{run['id']}")) for run in runs]
        found = check(service, cases, runs, began)
        report = {"seed": options.seed, "minutes": round((time.time() - began) / 60, 1)}
        report |= report_of(cases, runs, found)
    for name in (
        "struck",
        "submitted",
        "finished",
        "attempts",
        "claims",
        "written",
        "stored",
        "restarts",
        "lost_steps",
    ):
        print(f"{name:10} {report[name]}")
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(found.faults) or "no fault was found")
    if not found.faults:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
