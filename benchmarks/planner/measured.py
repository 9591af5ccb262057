"""Predicted and measured step times of 30 runs: nets, ranks, batches, rules and collectives.

    python -m benchmarks.planner.measured [--ranks 1 2 4]        # writes benchmarks/results/planner.json
    python -m benchmarks.planner.measured --lab                  # writes benchmarks/results/planner_lab.json

For each net and number of ranks, two synchronous runs without overlap measure the time of a sample and what a step
takes beside its samples: the line through both computing times. These runs, and the links that `auto` would measure,
are all that a prediction knows; the 30 runs have other batches, rules or collectives. Without the lab several ranks
share this machine's cores, so the calibration is of as many ranks as the prediction.

On the lab every rank is a device of SHARE of a core on a host of its own (benchmarks/headline/cpu_quota.py), behind a
link of RATE, and its batches are FACTOR times as large, because a quota is given in periods of 10 ms.
"""

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from api.collectives import collective_of
from benchmarks.headline.report import shaped_links
from benchmarks.launcher import lab_hosts, run_ranks
from contract.api.planning.calibration import StepTimes, calibrate
from contract.api.planning.plans import PlanReport, PlanRequest
from contract.metric_names import COMPUTE_S, INPUT_S, UPDATE_S
from contract.spec.run import RunSpec
from study.planner import step_time
from study.planner.plan import gradient_bytes, make_plan
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans.catalog import candidates
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import price

RESULTS = Path(__file__).parents[1] / "results"
SHARE, RATE, FACTOR = 0.4, "200mbit", 4
Spec = dict[str, Any]
GLYPHS: Spec = {"kind": "glyphs", "classes": 26, "train_samples": 4096, "heldout_samples": 64}
NETS: dict[str, Spec] = {
    "convnet 8, glyphs": {"model": {"kind": "convnet", "width": 8}, "data": GLYPHS},
    "LeNet, glyphs": {"model": {"kind": "lenet"}, "data": GLYPHS},
    "convnet 16, digits": {"model": {"kind": "convnet", "width": 16}, "data": {"kind": "digits"}},
}
SAMPLES = (16, 64)  # of a rank, in the two runs of a calibration
STEPS = 16
PLAIN: Spec = {"rule": {"kind": "sync", "overlap": False}, "collective": {"kind": "ring"}}
SYNC, EASGD = {"kind": "sync"}, "easgd"
CASES: dict[int, list[tuple[int, Spec]]] = {  # by ranks: samples of a rank, and the choices
    1: [(32, {"rule": SYNC}), (96, {"rule": SYNC})],
    2: [
        (32, {"rule": SYNC, "collective": {"kind": "ring"}}),
        (48, {"rule": {"kind": "sync", "overlap": False}, "collective": {"kind": "tree"}}),
        (24, {"rule": {"kind": EASGD, "variant": "sync2"}, "collective": {"kind": "halving_doubling"}}),
        (40, {"rule": {"kind": "async_sgd"}}),
    ],
    4: [
        (32, {"rule": SYNC, "collective": {"kind": "torus", "rows": 2}}),
        (48, {"rule": {"kind": "sync", "overlap": False}, "collective": {"kind": "halving_doubling"}}),
        (24, {"rule": {"kind": EASGD, "variant": "sync3"}, "collective": {"kind": "ring"}}),
        (40, {"rule": {"kind": EASGD, "variant": "sync1"}}),
    ],
}


def main() -> None:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", choices=CASES, default=list(CASES), help="by default all")
    parser.add_argument("--lab", action="store_true", help="each rank on a host of the lab, behind shaped links")
    options = parser.parse_args()
    report = RESULTS / ("planner_lab.json" if options.lab else "planner.json")
    before = json.loads(report.read_text())["runs"] if report.exists() else []
    load, rows = round(os.getloadavg()[0], 1), [row for row in before if row["ranks"] not in options.ranks]
    with shaped_links(RATE) if options.lab else nullcontext():
        for ranks in options.ranks:
            rows += [{**row, "load": load} for row in measure(Place(ranks, is_lab=options.lab))]
    errors = [abs(row["error"]) for row in rows]
    median = statistics.median(errors)
    print(f"{len(rows)} runs: median error {median:.1%}, largest {max(errors):.1%}")
    versions = {"python": platform.python_version(), "torch": torch.__version__, "cores": os.cpu_count()}
    found = {"versions": versions, "median_error": median, "runs": rows}
    report.write_text(json.dumps(found, indent=1) + "\n")


@dataclass(frozen=True)
class Place:
    """Where so many ranks are: on hosts of the lab, or all on this machine."""

    ranks: int
    is_lab: bool

    @property
    def hosts(self) -> Sequence[Sequence[int]]:
        """The ranks of each host."""
        return hosts_of(self.ranks, self.ranks if self.is_lab else 1)

    @property
    def factor(self) -> int:
        """What the samples of all runs are multiplied by."""
        return FACTOR if self.is_lab else 1

    def resources(self) -> Spec:
        """Return the resources of a run."""
        if self.is_lab:
            return {"kind": "slurm", "nodes": self.ranks, "ranks_per_node": 1}
        return {"kind": "local", "ranks_per_node": self.ranks}

    def carry_out(self, runs: Sequence[Spec]) -> Spec:
        """Return the network and the time parts of all runs."""
        task = {"runs": runs, "hosts": self.hosts, "share": SHARE if self.is_lab else None}
        hosts, per_host = (lab_hosts(self.ranks), 1) if self.is_lab else ([""], self.ranks)
        found: Spec = run_ranks("benchmarks.planner.rank", hosts, per_host, task, timeout_s=900)
        return found


def measure(place: Place) -> Iterator[Spec]:
    """Yield the rows of all runs on so many ranks."""
    cases = [(place.factor * samples, choices) for samples, choices in CASES[place.ranks]]
    calibrated = [place.factor * samples for samples in SAMPLES]
    runs = [
        run_of(net, place, samples, choices)
        for net in NETS
        for samples, choices in [*((samples, PLAIN) for samples in calibrated), *cases]
    ]
    found = place.carry_out(runs)
    per_net = len(calibrated) + len(cases)
    for number, net in enumerate(NETS):
        mine = found["runs"][number * per_net : (number + 1) * per_net]
        calibration = calibration_of(calibrated, mine[: len(calibrated)])
        for (samples, choices), parts in zip(cases, mine[len(calibrated) :], strict=True):
            yield compare(net, place, samples, choices, parts, calibration, found["network"])


def run_of(net: str, place: Place, samples: int, choices: Spec) -> Spec:
    """Return the spec of a run of a few steps."""
    batch = samples * place.ranks
    available = NETS[net]["data"].get("train_samples", 1437)
    return {
        **NETS[net],
        **choices,
        "optimizer": {"kind": "sgd", "momentum": 0.0},
        "schedule": {"kind": "constant", "rate": 0.001},
        "batch": batch,
        "epochs": -(-STEPS // (available // batch)),
        "resources": place.resources(),
    }


def calibration_of(samples: Sequence[int], runs: list[Spec]) -> Spec:
    """Return the speed of a rank and the fixed time of a step: the line through the computing times of two batches."""
    other_s = [run[UPDATE_S] + run[INPUT_S] for run in runs]
    times = [StepTimes(*row) for row in zip(samples, (run[COMPUTE_S] for run in runs), other_s, strict=True)]
    return calibrate(times).model_dump()


def predict(net: str, place: Place, samples: int, calibration: Spec, network: Spec | None) -> PlanReport:
    """Return the plan of a run."""
    hosts = place.hosts
    links = Network(hosts=hosts, **network) if network else Network(hosts=hosts, rate=1e9)
    request = PlanRequest.model_validate(
        {
            **NETS[net],
            "optimizer": {"kind": "sgd", "momentum": 0.0},
            "batch": samples * place.ranks,
            "micro_batch": samples,
            "network": {
                "hosts": len(hosts),
                "ranks_per_host": len(hosts[0]),
                "rate": min(links.rate, 1e15),
                "inside_rate": min(_rate(network), 1e15),
            },
            "device": {"flops": 1e9, "memory_bytes": 1e12},
            "calibration": calibration,
        }
    )
    size_bytes = gradient_bytes(request)
    priced = [(collective_of(plan), price(plan, links).seconds(size_bytes)) for plan in candidates(hosts)]
    return make_plan(request, priced)


def _rate(network: Spec | None) -> float:
    """Return the bytes per second of one message inside a host: where processors copy, the sender and the receiver."""
    if network is None:
        return 5e9
    return 1 / (1 / float(network["inside_rate"]) + 2 / float(network["copy_rate"]))


def compare(
    net: str, place: Place, samples: int, choices: Spec, parts: Spec, calibration: Spec, network: Spec | None
) -> Spec:
    """Return the row of a run: predicted against measured."""
    plan = predict(net, place, samples, calibration, network)
    run = RunSpec.model_validate(run_of(net, place, samples, choices))
    rule = step_time.describe_rule(run.rule)
    wanted = choices.get("collective")
    shape = None if wanted is None or not step_time.uses_collective(run.rule) else wanted
    options = [
        option
        for option in plan.options
        if option.rule == rule
        and (shape is None or option.collective is None or shape.items() <= option.collective.model_dump().items())
    ]
    predicted = options[0].step_s
    error = predicted / parts["step_s"] - 1
    row = {"net": net, "ranks": place.ranks, "samples": samples, "rule": rule, "collective": wanted}
    row |= {"predicted_s": predicted, "measured_s": parts["step_s"], "error": error, "parts": parts}
    print(
        f"{net}, {place.ranks} ranks x {samples}, {rule} {wanted['kind'] if wanted else ''}: {1e3 * predicted:.1f} ms "
        f"predicted, {1e3 * parts['step_s']:.1f} ms measured, {error:+.0%}",
        flush=True,
    )
    return row


if __name__ == "__main__":
    main()
