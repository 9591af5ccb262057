"""The time of every all-reduce algorithm compared with gloo and OpenMPI, on hosts with 200 Mbit/s links.

`make bench NAME=allreduce` writes benchmarks/results/allreduce.json; options measure a part and only print:
`python -m benchmarks.allreduce --layout 2x4 --size 16MiB --algorithm gloo --algorithm torus --repeats 5`.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.allreduce import openmpi
from benchmarks.allreduce.algorithms import NAMES, ON_REQUEST
from benchmarks.launcher import lab_hosts, run_ranks, shape_links

RATE = "200mbit"
LAYOUTS = ["2x2", "2x4", "4x2"]
SIZES = ["4KiB", "64KiB", "1MiB", "16MiB", "100MiB"]
LOCAL = {"layout": "1x4", "size": "32MiB"}  # on this machine, without links
RESULTS = Path(__file__).parents[1] / "results" / "allreduce.json"


def main() -> None:
    """Measure and print; write the report if everything was measured."""
    options = parse_options()
    is_whole = not (options.layout or options.size or options.algorithm) and options.rate == RATE
    networks: dict[str, Any] = {}
    if reason := openmpi.missing():
        print(reason, file=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; no report was written"))
    try:
        shape_links("--rate", options.rate)
        rows = [row for layout in options.layout or LAYOUTS for row in measure_layout(layout, options, networks)]
        if is_whole:
            local = argparse.Namespace(**{**vars(options), "size": [LOCAL["size"]]})
            rows += measure_layout(LOCAL["layout"], local, networks)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        shape_links()
    if is_whole:
        RESULTS.parent.mkdir(exist_ok=True)
        report = {"machine": machine(), "versions": versions(), "networks": networks, "rows": rows}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", action="append", help="hosts x ranks per host, such as 2x4")
    parser.add_argument("--size", action="append", help="such as 16MiB")
    parser.add_argument("--algorithm", action="append", choices=[*NAMES, *ON_REQUEST, *openmpi.VARIANTS])
    repeats = "four times as many up to 1 MiB, fewer if one takes long"
    parser.add_argument("--repeats", type=int, default=5, help=repeats)
    parser.add_argument("--rate", default=RATE, help="of a host's link, such as 50mbit")
    return parser.parse_args()


def measure_layout(layout: str, options: argparse.Namespace, networks: dict[str, Any]) -> list[dict[str, Any]]:
    """Measure one layout, print its rows, and store its measured network in `networks`."""
    hosts, per_host = map(int, layout.split("x"))
    names = lab_hosts(hosts) if hosts > 1 else [""]
    sizes = [parse_size(size) for size in options.size or SIZES]
    algorithms = options.algorithm or [*NAMES, *openmpi.ALGORITHMS]
    task = {"sizes": sizes, "ranks_per_host": per_host, "repeats": options.repeats}
    own = [name for name in algorithms if name not in openmpi.VARIANTS]
    rows = []
    if own:
        result = run_ranks("benchmarks.allreduce.rank", names, per_host, {**task, "algorithms": own})
        rows, networks[layout] = result["rows"], result["network"]
    for name in [name for name in algorithms if name in openmpi.VARIANTS and hosts > 1 and not openmpi.missing()]:
        print(f"  {name}", file=sys.stderr, flush=True)
        seconds = openmpi.allreduce_s(name, names, per_host, sizes=sizes, repeats=options.repeats)
        rows += [{"bytes": nbytes, "algorithm": name, "seconds": spent_s} for nbytes, spent_s in seconds.items()]
    rows = [complete_row(row, hosts, per_host, options.rate) for row in rows]
    for row in sorted(rows, key=lambda row: (row["bytes"], row["seconds"])):
        over = f"{row['seconds'] / row['bound_s']:8.3f} x bound" if row["bound_s"] else ""
        print(f"{layout} {row['bytes'] / 1024:8.0f} KiB  {row['algorithm']:20}{row['seconds'] * 1e3:10.2f} ms{over}")
    sys.stdout.flush()
    return rows


def complete_row(row: dict[str, Any], hosts: int, per_host: int, rate: str) -> dict[str, Any]:
    """Add the layout and the lower bound to a row: the bytes that every all-reduce must send over one host's link.

    Rows of OpenMPI have no prediction, because no plan describes its algorithm.
    """
    bound_s = bound_seconds(row["bytes"], hosts, rate)
    return {"hosts": hosts, "ranks_per_host": per_host, "predicted_s": None, **row, "bound_s": bound_s}


def bound_seconds(nbytes: int, hosts: int, rate: str) -> float:
    """Return the seconds in which the bytes of an all-reduce that must cross a host's link do so at `rate`."""
    return 2 * (hosts - 1) / hosts * nbytes * 8 / bits_per_second(rate)


def bits_per_second(rate: str) -> float:
    """Return the bits per second of a rate in the lab's notation, such as 200mbit."""
    return float(rate[:-4]) * {"k": 1e3, "m": 1e6, "g": 1e9}[rate[-4]]


def parse_size(size: str) -> int:
    """Return the bytes of a size such as 16MiB."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    return int(size[:-3]) * units[size[-3:]]


def machine(rate: str = RATE) -> str:
    """Return a description of the machine."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, lab at {rate}"


def versions() -> dict[str, str]:
    """Return the versions of Python, torch and OpenMPI."""
    found = {"python": platform.python_version(), "torch": torch.__version__, "openmpi": "none"}
    if not openmpi.missing():
        done = subprocess.run(["mpirun", "--version"], capture_output=True, text=True)
        found["openmpi"] = done.stdout.splitlines()[0].split()[-1]
    return found


if __name__ == "__main__":
    main()
