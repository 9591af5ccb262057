"""`auto` against the bound, gloo and OpenMPI's best: the best of its algorithms and segment sizes, searched per case.

`make bench NAME=allreduce.peers` writes benchmarks/results/allreduce_peers.json; options measure a part and only print:
`python -m benchmarks.allreduce.peers --layout 2x4 --size 16MiB`.

The search measures every variant of OpenMPI (openmpi.VARIANTS) on the smallest size, and the FINALISTS best on each
larger size, in the same run as the comparison. Then `auto`, gloo and OpenMPI's best take turns, PASSES times. All use
the same congestion control, which gloo and OpenMPI inherit from the hosts and could not choose otherwise
(docs/log/collectives.md). Our plans are not searched: `auto` chooses by price, before the first call.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.allreduce import openmpi
from benchmarks.allreduce.benchmark import RESULTS, bound_seconds, machine, parse_size, versions
from benchmarks.launcher import lab_hosts, run_command_on, run_ranks, shape_links
from trainers.collectives.wire.rendezvous import CONGESTION

RATE = "100mbit"
LAYOUTS = ["2x2", "2x4", "4x2", "3x2", "6x1", "5x1"]
SIZES = ["16MiB", "100MiB"]
OWN = ["gloo", "auto"]
PASSES, FINALISTS = 2, 3
TARGET = 1.06  # times the bound
WARM_UP_BYTES = 1 << 20
PEERS = RESULTS.with_name("allreduce_peers.json")
Times = dict[str, dict[int, list[float]]]  # algorithm -> bytes -> seconds of every call


def main() -> None:
    """Measure and print; write the report after every layout if everything is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", action="append", help="hosts x ranks per host, such as 2x4")
    parser.add_argument("--size", action="append", help="such as 16MiB")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--rate", default=RATE, help="of a host's link")
    parser.add_argument("--report", type=Path, help="write this report also if only a part is measured")
    options = parser.parse_args()
    if reason := openmpi.missing():
        sys.exit(reason)
    is_whole = not (options.layout or options.size) and options.rate == RATE and options.passes == PASSES
    report = options.report or (PEERS if is_whole else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; the report contains the finished layouts"))
    rows: list[dict[str, Any]] = []
    try:
        shape_links("--rate", options.rate)
        for layout in options.layout or LAYOUTS:
            rows += measure_layout(layout, options)
            if report:
                found = {"machine": machine(options.rate), "versions": versions(), "rows": rows}
                report.write_text(json.dumps(found, indent=1) + "\n")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        shape_links()


def measure_layout(layout: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Search OpenMPI's best, measure all in turn, and print and return a row for each size."""
    hosts, per_host = map(int, layout.split("x"))
    names, sizes = lab_hosts(hosts), sorted(parse_size(size) for size in options.size or SIZES)
    load = [os.getloadavg()[0]]
    with congestion_control(names, CONGESTION.decode()), openmpi.program() as compiled:
        searched = search(compiled, names, per_host, sizes)
        best = {size: min(searched[size], key=lambda name: searched[size][name]) for size in sizes}
        times = [measure_pass(compiled, names, per_host, best) for _ in range(options.passes)]
    load.append(os.getloadavg()[0])
    rows = []
    for size in sizes:
        calls = {name: [s for of_pass in times for s in of_pass[name][size]] for name in [*OWN, "openmpi"]}
        bound_s = bound_seconds(size, hosts, options.rate)
        row = {"hosts": hosts, "ranks_per_host": per_host, "bytes": size, "bound_s": bound_s, "load": load}
        row |= {"openmpi_best": best[size], "searched_s": searched[size], "calls_s": calls}
        row |= {f"{name}_over_bound": median(of_one) / bound_s for name, of_one in calls.items()}
        print_row(layout, row)
        rows.append(row)
    return rows


def search(compiled: Path, hosts: list[str], per_host: int, sizes: list[int]) -> dict[int, dict[str, float]]:
    """Return bytes -> variant -> seconds, of all variants for the smallest size and of the best ones for the others."""
    found: dict[int, dict[str, float]] = {}
    for size in sizes:
        ranked = sorted(found[sizes[0]], key=lambda name: found[sizes[0]][name]) if found else list(openmpi.VARIANTS)
        found[size] = {}
        for variant in ranked[:FINALISTS] if size != sizes[0] else ranked:
            try:
                repeats = {WARM_UP_BYTES: 2, size: 1}
                calls = openmpi.call_times_s(compiled, variant, hosts, per_host, repeats=repeats)
            except RuntimeError as error:  # a variant that does not work here is not the best
                print(f"  {variant}: {error}", file=sys.stderr, flush=True)
                continue
            found[size][variant] = min(calls[size])
            print(f"  {size >> 20} MiB {variant:24}{found[size][variant]:8.3f} s", file=sys.stderr, flush=True)
    return found


def measure_pass(compiled: Path, hosts: list[str], per_host: int, best: dict[int, str]) -> Times:
    """Return the calls of our ranks, then of OpenMPI's best variant for each size."""
    sizes = [WARM_UP_BYTES, *best]
    task = {"sizes": sizes, "ranks_per_host": per_host, "repeats": 2, "algorithms": OWN}
    result = run_ranks("benchmarks.allreduce.rank", hosts, per_host, task)
    times: Times = {name: {} for name in [*OWN, "openmpi"]}
    for row in result["rows"]:
        times[row["algorithm"]][row["bytes"]] = counted(row["calls_s"], row["bytes"])
    for size, variant in best.items():
        repeats = {WARM_UP_BYTES: 2, size: calls_of(size)}
        calls = openmpi.call_times_s(compiled, variant, hosts, per_host, repeats=repeats)
        times["openmpi"][size] = counted(calls[size], size)
    return times


def calls_of(size: int) -> int:
    """Return how many calls a pass makes: one of a large vector, which no warm-up changes, or three."""
    return 1 if size >> 26 else 3


def counted(calls_s: list[float], size: int) -> list[float]:
    """Return the calls that count: without the first, which warms up, if there are several."""
    return calls_s[:1] if size >> 26 else calls_s[1:]


def print_row(layout: str, row: dict[str, Any]) -> None:
    """Print one case, with the targets."""
    auto, gloo, best = (row[f"{name}_over_bound"] for name in ("auto", "gloo", "openmpi"))
    met = "met" if auto <= TARGET and auto < min(gloo, best) else "NOT met"
    print(
        f"{layout} {row['bytes'] >> 20:4} MiB  auto {auto:.3f} x bound, gloo {gloo:.3f}, "
        f"OpenMPI's best {best:.3f} ({row['openmpi_best']}): {met}; load {row['load'][-1]:.1f}",
        flush=True,
    )


@contextmanager
def congestion_control(hosts: list[str], name: str) -> Iterator[None]:
    """Let every new connection of the hosts use this congestion control."""
    setting = "net.ipv4.tcp_congestion_control"
    before = {host: run_command_on(host, "sysctl", "-n", setting).strip() for host in hosts}
    try:
        for host in hosts:
            run_command_on(host, "sysctl", "-w", f"{setting}={name}")
        yield
    finally:
        for host, old in before.items():
            run_command_on(host, "sysctl", "-w", f"{setting}={old}")


if __name__ == "__main__":
    main()
