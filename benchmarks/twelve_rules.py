"""All twelve rules by POST on a Slurm: `make bench NAME=twelve_rules`, on the lab some five minutes.

You, Buluç & Demmel (2017) compare ways for replicas to agree, and their counterparts. Each is one run of four ranks on
two hosts, of the lab's gpu partition and of its knl partition (each chip in two pinned parts): digits, from the spec by
POST to the held-out accuracy. The budget is 12 epochs, 264 steps of 64 images; the aim is 0.95 in that budget.
Needs the lab (python -m lab up) and a shell that it is known to (eval "$(python -m lab env)").
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

from benchmarks.submission import service
from bigbatch.client import Client
from contract.api.responses import RunDetail
from contract.lifecycle.state import ENDED
from contract.metric_names import COMMUNICATION_S, HELDOUT_ACCURACY, PARTS, TRAINED_S

AIM, EPOCHS = 0.95, 12
PATIENCE_S = 300.0
PLACES: dict[str, dict[str, Any]] = {
    "gpu": {"kind": "slurm", "partition": "gpu", "nodes": 2, "ranks_per_node": 2, "gres": "gpu:2"},
    "knl": {
        "kind": "slurm",
        "partition": "knl",
        "nodes": 2,
        "constraint": "knl",
        "many_core": {"cpus": 8, "parts": 2, "cluster_mode": "quad"},
    },
}
PLAIN, MOMENTUM = (0.2, 0.0), (0.02, 0.9)  # rate and momentum
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
    """POST the runs one after the other, each row into the report as it comes; exit 1 where one misses the aim."""
    if not os.environ.get("SLURM_CONF"):
        sys.exit('no cluster: python -m lab up; eval "$(python -m lab env)"')
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", action="store_true", help="those that the report has not, after an end midway")
    parser.add_argument("--most", type=int, default=len(PLACES) * len(RULES), help="so many runs and no more")
    asked = parser.parse_args()
    rows = reported() if asked.missing else {}
    wanted = [at for at in product(PLACES, RULES) if at not in rows]
    with (
        tempfile.TemporaryDirectory(prefix="bigbatch-rules-") as home,
        service(Path(home)) as (url, _),
        Client(url) as client,
    ):
        for at in wanted[: asked.most]:
            rows[at] = carried_out(client, *at)
            write([rows[at] for at in product(PLACES, RULES) if at in rows])
    sys.exit(any(row["accuracy"] < AIM for row in rows.values()))


def reported() -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of the report there is, by place and rule."""
    found = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
    return {(row["place"], row["rule"]): row for row in found}


def write(rows: list[dict[str, Any]]) -> None:
    """Write the report."""
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": os.cpu_count()}
    versions = {"torch": version("torch"), "python": platform.python_version()}
    specs = {place: spec(place, "Original EASGD") for place in PLACES}
    report = {"machine": machine, "versions": versions, "aim": AIM, "budget_epochs": EPOCHS, "rows": rows}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**report, "specs": specs}, indent=1) + "\n")


def spec(place: str, name: str) -> dict[str, Any]:
    """What is POSTed for one rule in one place."""
    rule, (rate, momentum), more = RULES[name]
    base = {
        "data": {"kind": "digits"},
        "optimizer": {"kind": "sgd", "momentum": momentum},
        "schedule": {"kind": "constant", "rate": rate},
        "batch": 64,
        "epochs": EPOCHS,
        "rule": rule,
        "resources": PLACES[place],
        **more,
    }
    return {"name": f"{name} on {place}", "base": base}


def carried_out(client: Client, place: str, name: str) -> dict[str, Any]:
    """POST one run, wait for its end, and say what came of it."""
    (run_id,) = client.create(spec(place, name)).runs
    until = time.monotonic() + PATIENCE_S
    while (run := client.run(run_id)).state not in ENDED:
        if time.monotonic() > until:
            raise TimeoutError(f"{name} on {place} is {run.state} after {PATIENCE_S:g} s")
        time.sleep(0.5)
    row = {"place": place, "rule": name, "state": run.state, **_outcome(client, run)}
    print(
        f"{place} {name:17} {run.state:6} {row['accuracy']:7.2%} after {EPOCHS} epochs, {AIM:.0%} after "
        f"{row['aim_epoch']}, communication {row['communication_share']:.0%}, {row['trained_s']:.1f} s",
        flush=True,
    )
    return row


def _outcome(client: Client, run: RunDetail) -> dict[str, Any]:
    series = client.points(run.id).series
    accuracies = series[HELDOUT_ACCURACY].values if HELDOUT_ACCURACY in series else []
    reached = [number for number, value in enumerate(accuracies, start=1) if value is not None and value >= AIM]
    times = {name: sum(value or 0.0 for value in series[name].values) for name in PARTS if name in series}
    return {
        "accuracy": run.latest.get(HELDOUT_ACCURACY) or 0.0,
        "aim_epoch": reached[0] if reached else None,
        "trained_s": run.latest.get(TRAINED_S) or 0.0,
        "communication_share": times.get(COMMUNICATION_S, 0.0) / (sum(times.values()) or 1.0),
        "hosts": sorted({host for attempt in run.attempts for host in attempt.hosts}),
        "seconds": (run.ended_at - run.created_at).total_seconds() if run.ended_at else None,
        "bound": [f"{one.host}: cpus {one.cpus}" for one in run.bindings.ranks] if run.bindings else [],
    }


if __name__ == "__main__":
    main()
