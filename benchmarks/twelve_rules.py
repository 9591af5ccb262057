"""All twelve update rules, submitted by POST to Slurm: `make bench NAME=twelve_rules`, about five minutes in the lab.

You, Buluç & Demmel (2017) compare these rules. Each rule is one run of four ranks on two hosts, in the lab's gpu
partition and in its knl partition (each chip in two bound parts), on the digits. A run has 12 epochs, 264 steps of 64
images, and should reach a held-out accuracy of 0.95.
The benchmark needs the lab (python -m lab up) and its environment (eval "$(python -m lab env)").
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.submission.service import service
from bigbatch.client import Client
from contract.api.responses import RunDetail
from contract.lifecycle.state import ENDED
from contract.metric_names import COMMUNICATION_S, HELDOUT_ACCURACY, TIME_PARTS, TRAINED_S

TARGET, EPOCHS = 0.95, 12
PATIENCE_S = 300.0
RESOURCES: dict[str, dict[str, Any]] = {
    "gpu": {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2, "gres": "gpu:2"},
    "knl": {
        "kind": "slurm",
        "partition": "knl",
        "nodes": 2,
        "constraint": "knl",
        "many_core": {"cpus": 8, "parts": 2, "cluster_mode": "quad"},
    },
}
PLAIN, MOMENTUM = (0.2, 0.0), (0.02, 0.9)  # learning rate and momentum
RULES: dict[str, tuple[dict[str, Any], tuple[float, float], dict[str, Any]]] = {
    "Original EASGD": ({"kind": "easgd", "variant": "original"}, PLAIN, {}),
    "Async EASGD": ({"kind": "easgd", "variant": "async"}, PLAIN, {}),
    "Async MEASGD": ({"kind": "easgd", "variant": "async"}, MOMENTUM, {}),
    "Hogwild EASGD": ({"kind": "easgd", "variant": "hogwild"}, PLAIN, {}),
    "Sync EASGD 1": ({"kind": "easgd", "variant": "sync1"}, PLAIN, {}),
    "Sync EASGD 2": ({"kind": "easgd", "variant": "sync2"}, PLAIN, {}),
    "Sync EASGD 3": ({"kind": "easgd", "variant": "sync3"}, PLAIN, {}),
    "Async SGD": ({"kind": "async_sgd"}, PLAIN, {}),
    "Async MSGD": ({"kind": "async_sgd"}, MOMENTUM, {}),
    "Hogwild SGD": ({"kind": "async_sgd", "variant": "hogwild"}, PLAIN, {}),
    "Sync SGD": ({"kind": "sync"}, PLAIN, {}),
    "parameter server": ({"kind": "sync"}, PLAIN, {"collective": {"kind": "server"}}),
}
RESULT = Path(__file__).parent / "results" / "twelve_rules.json"


def main() -> None:
    """Run the rules in order and write the report after each run; exit with status 1 if a run misses the target."""
    if not os.environ.get("SLURM_CONF"):
        sys.exit('SLURM_CONF is not set; start the lab: python -m lab up; eval "$(python -m lab env)"')
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", action="store_true", help="run only the cases that the report does not contain")
    parser.add_argument("--most", type=int, default=len(RESOURCES) * len(RULES), help="limit of runs")
    options = parser.parse_args()
    rows = read_report() if options.missing else {}
    wanted = [case for case in product(RESOURCES, RULES) if case not in rows]
    with (
        tempfile.TemporaryDirectory(prefix="bigbatch-rules-") as home,
        service(Path(home)) as (connection, _),
        Client(str(connection.base_url), (Path(home) / "token").read_text()) as client,
    ):
        for case in wanted[: options.most]:
            rows[case] = run_rule(client, *case)
            write([rows[case] for case in product(RESOURCES, RULES) if case in rows])
    sys.exit(any(row["accuracy"] < TARGET for row in rows.values()))


def read_report() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of the existing report by partition and rule."""
    found = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
    return {(row["place"], row["rule"]): row for row in found}


def write(rows: list[dict[str, Any]]) -> None:
    """Write the report."""
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": os.cpu_count()}
    versions = {"torch": version("torch"), "python": platform.python_version()}
    specs = {partition: spec(partition, "Original EASGD") for partition in RESOURCES}
    report = {"machine": machine, "versions": versions, "aim": TARGET, "budget_epochs": EPOCHS, "rows": rows}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**report, "specs": specs}, indent=1) + "\n")


def spec(partition: str, name: str) -> dict[str, Any]:
    """Return the spec of one rule in one partition."""
    rule, (rate, momentum), extra = RULES[name]
    base = {
        "data": {"kind": "digits"},
        "optimizer": {"kind": "sgd", "momentum": momentum},
        "schedule": {"kind": "constant", "rate": rate},
        "batch": 64,
        "epochs": EPOCHS,
        "rule": rule,
        "resources": RESOURCES[partition],
        **extra,
    }
    return {"name": f"{name} on {partition}", "base": base}


def run_rule(client: Client, partition: str, name: str) -> dict[str, Any]:
    """POST one run, wait for its end, and return a row of the report."""
    (run_id,) = client.create(spec(partition, name)).runs
    deadline = time.monotonic() + PATIENCE_S
    while (run := client.run(run_id)).state not in ENDED:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} on {partition} is {run.state} after {PATIENCE_S:g} s")
        time.sleep(0.5)
    row = {"place": partition, "rule": name, "state": run.state, **_outcome(client, run)}
    print(
        f"{partition} {name:17} {run.state:6} {row['accuracy']:7.2%} after {EPOCHS} epochs, {TARGET:.0%} after "
        f"{row['aim_epoch']}, communication {row['communication_share']:.0%}, {row['trained_s']:.1f} s",
        flush=True,
    )
    return row


def _outcome(client: Client, run: RunDetail) -> dict[str, Any]:
    series = client.points(run.id).series
    accuracies = series[HELDOUT_ACCURACY].values if HELDOUT_ACCURACY in series else []
    reached = [number for number, value in enumerate(accuracies, start=1) if value is not None and value >= TARGET]
    times = {name: sum(value or 0.0 for value in series[name].values) for name in TIME_PARTS if name in series}
    return {
        "accuracy": run.latest.get(HELDOUT_ACCURACY) or 0.0,
        "aim_epoch": reached[0] if reached else None,
        "trained_s": run.latest.get(TRAINED_S) or 0.0,
        "communication_share": times.get(COMMUNICATION_S, 0.0) / (sum(times.values()) or 1.0),
        "hosts": sorted({host for attempt in run.attempts for host in attempt.hosts}),
        "seconds": (run.ended_at - run.created_at).total_seconds() if run.ended_at else None,
        "bound": [f"{rank.host}: cpus {rank.cpus}" for rank in run.bindings.ranks] if run.bindings else [],
    }


if __name__ == "__main__":
    main()
