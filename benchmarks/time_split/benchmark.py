"""The injected time split: its communication share compared with the engine's own, and what it costs.

Shares: on the lab, 2 hosts x 2 ranks with links of 200 Mbit/s, the engine's steps and those of an ordinary DDP loop of
the same net and batch alternate in the same processes, both over gloo. The goal is that the shares of communication
differ by at most 10 %. Cost: two ranks of this machine take steps of about 50 ms, in blocks with and without the hook,
its thread and its files in turn, and steps of a net of one weight show the processor time of the calls alone. The goal
is less than 1 %, that is 500 us.

`make bench NAME=time_split` needs the lab (root on Debian), and about twelve minutes. `--part cost` or `--part shares`
measures one part and replaces it in the report; with `--net` or `--local` it only prints.
"""

import argparse
import json
import math
import signal
import sys
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from benchmarks.allreduce.benchmark import machine, versions
from benchmarks.launcher import run_ranks, shape_links
from benchmarks.throughput.benchmark import spec
from lab.instance import HOST_SUFFIX

RATE = "200mbit"
# net -> side in pixels, samples per rank, whether gradients are summed while the backward pass computes, and rounds:
# four ranks share the processors of one machine, so the share of a short step varies by a third from round to round
CASES = {"lenet": (28, 96, False, 60), "nin": (67, 16, True, 6)}
COST_CASE = (28, 80)  # of lenet: a step of about 50 ms on this machine
COST_ROUNDS = 200
RESULT = Path(__file__).parents[1] / "results" / "time_split.json"


def main() -> None:
    """Measure, print, and write the report if everything was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["shares", "cost"])
    parser.add_argument("--net", choices=[*CASES], action="append")
    parser.add_argument("--local", action="store_true", help="measure the shares on this machine, without the lab")
    options = parser.parse_args()
    report: dict[str, Any] = {"machine": machine(), "versions": versions(), "rate": RATE}
    if options.part != "cost":
        report["shares"] = measure_shares(options.net or [*CASES], is_local=options.local)
    if options.part != "shares":
        report["cost"] = measure_cost()
    if not (options.net or options.local):
        kept = json.loads(RESULT.read_text()) if options.part else {}
        RESULT.write_text(json.dumps(kept | report, indent=1) + "\n")


def measure_shares(nets: list[str], *, is_local: bool) -> list[dict[str, Any]]:
    """Measure each net on the lab, or on four ranks of this machine."""
    if is_local:
        return [measure_share(net, ["", ""]) for net in nets]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; no report was written"))
    shape_links("--rate", RATE)
    try:
        return [measure_share(net, [f"gpu{number}{HOST_SUFFIX}" for number in (1, 2)]) for net in nets]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        shape_links()


def measure_share(net: str, hosts: list[str]) -> dict[str, Any]:
    """Compare the shares of one net and print a row."""
    pixels, share, overlap, rounds_asked = CASES[net]
    rule = {"kind": "sync", "overlap": overlap}
    run = {**spec(net, 4, pixels, share), "collective": {"kind": "native"}, "rule": rule}
    task = {"part": "shares", "run": run, "rounds": rounds_asked}
    rounds = run_ranks("benchmarks.time_split.rank", hosts, 2, task)
    engine, hook = (median(one[name]["communication"] for one in rounds) for name in ("engine", "hook"))
    ratio, low, high = mean_ratio([one["hook"]["communication"] / one["engine"]["communication"] for one in rounds])
    print(
        f"{net:10} communication share: engine {engine:.1%}, hook {hook:.1%}, mean ratio of {len(rounds)} rounds "
        f"{ratio:.3f} ({low:.3f} to {high:.3f} at 95 %)"
    )
    sys.stdout.flush()
    ratios = {"ratio": ratio, "interval": [low, high]}
    return {"net": net, "engine": engine, "hook": hook, **ratios, "rounds": rounds, "run": run}


def mean_ratio(ratios: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean of ratios and its interval of 95 %, by the normal distribution."""
    logs = [math.log(ratio) for ratio in ratios]
    middle, error = mean(logs), stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - 1.96 * error), math.exp(middle + 1.96 * error)


def measure_cost() -> dict[str, Any]:
    """Compare steps with and without the hook and print a row."""
    run = spec("lenet", 2, *COST_CASE)
    found: dict[str, Any] = run_ranks(
        "benchmarks.time_split.rank", [""], 2, {"part": "cost", "run": run, "rounds": COST_ROUNDS}
    )
    ratio, low, high = mean_ratio([on / off for on, off in zip(found["on"], found["off"], strict=True)])
    print(
        f"step of {median(found['off']) * 1e3:.1f} ms: mean ratio {ratio:.4f} ({low:.4f} to {high:.4f} at 95 %); "
        f"processor time of its thread {found['thread_share']:.3%} of a core, of its calls "
        f"{found['calls_s'] * 1e6:.0f} us per step"
    )
    return {**found, "ratio": ratio, "interval": [low, high]}


if __name__ == "__main__":
    main()
