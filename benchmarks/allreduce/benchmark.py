"""How fast do gradients meet? Every all-reduce against gloo's and OpenMPI's, on hosts with 200 Mbit/s links.

`make bench NAME=allreduce` writes benchmarks/results/allreduce.json; options try a part of it and print only:
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

from benchmarks.allreduce import openmpi as mpi
from benchmarks.allreduce.algorithms import NAMES
from benchmarks.launcher import on_ranks

RATE_BIT_S = 200e6
LAYOUTS = ["2x2", "2x4", "4x2"]
SIZES = ["4KiB", "64KiB", "1MiB", "16MiB", "100MiB"]
LOCAL = {"layout": "1x4", "size": "32MiB"}  # unshaped: one machine
RESULTS = Path(__file__).parents[1] / "results" / "allreduce.json"


def main() -> None:
    """Measure, print, and write the report if all was measured."""
    options = parsed()
    is_whole = not (options.layout or options.size or options.algorithm)
    networks: dict[str, Any] = {}
    if lacking := mpi.missing():
        print(lacking, file=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by TERM; nothing was written"))
    try:
        shape("--rate", "200mbit")
        rows = [row for layout in options.layout or LAYOUTS for row in measured(layout, options, networks)]
        if is_whole:
            local = argparse.Namespace(**{**vars(options), "size": [LOCAL["size"]]})
            rows += measured(LOCAL["layout"], local, networks)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        shape()
    if is_whole:
        RESULTS.parent.mkdir(exist_ok=True)
        report = {"machine": machine(), "versions": versions(), "networks": networks, "rows": rows}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", action="append", help="hosts x ranks per host, as 2x4")
    parser.add_argument("--size", action="append", help="as 16MiB")
    parser.add_argument("--algorithm", action="append", choices=[*NAMES, *mpi.ALGORITHMS])
    times = "four times as many up to 1 MiB, fewer of what takes long"
    parser.add_argument("--repeats", type=int, default=5, help=times)
    return parser.parse_args()


def measured(layout: str, options: argparse.Namespace, networks: dict[str, Any]) -> list[dict[str, Any]]:
    """Measure one layout, print its rows, and keep by which links they were predicted in `networks`."""
    hosts, per_host = map(int, layout.split("x"))
    names = [f"gpu{i + 1}" for i in range(hosts)] if hosts > 1 else [""]
    sizes = [in_bytes(size) for size in options.size or SIZES]
    algorithms = options.algorithm or [*NAMES, *mpi.ALGORITHMS]
    task = {"sizes": sizes, "ranks_per_host": per_host, "repeats": options.repeats}
    ours = [name for name in algorithms if name in NAMES]
    rows = []
    if ours:
        told = on_ranks("benchmarks.allreduce.rank", names, per_host, {**task, "algorithms": ours})
        rows, networks[layout] = told["rows"], told["network"]
    for name in [name for name in algorithms if name in mpi.ALGORITHMS and hosts > 1 and not mpi.missing()]:
        print(f"  {name}", file=sys.stderr, flush=True)
        seconds = mpi.allreduce_s(name, names, per_host, sizes=sizes, repeats=options.repeats)
        rows += [{"bytes": nbytes, "algorithm": name, "seconds": spent_s} for nbytes, spent_s in seconds.items()]
    rows = [finished(row, hosts, per_host) for row in rows]
    for row in sorted(rows, key=lambda row: (row["bytes"], row["seconds"])):
        over = f"{row['seconds'] / row['bound_s']:8.3f} x bound" if row["bound_s"] else ""
        print(f"{layout} {row['bytes'] / 1024:8.0f} KiB  {row['algorithm']:14}{row['seconds'] * 1e3:10.2f} ms{over}")
    sys.stdout.flush()
    return rows


def finished(row: dict[str, Any], hosts: int, per_host: int) -> dict[str, Any]:
    """Complete a row with its place and the bound: what any all-reduce must push through one host's link.

    OpenMPI's rows hold no prediction: what it sends, and in which segments, no plan of ours describes.
    """
    bound_s = 2 * (hosts - 1) / hosts * row["bytes"] * 8 / RATE_BIT_S
    return {"hosts": hosts, "ranks_per_host": per_host, "predicted_s": None, **row, "bound_s": bound_s}


def in_bytes(size: str) -> int:
    """Return 16777216 for 16MiB."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    return int(size[:-3]) * units[size[-3:]]


def shape(*rate: str) -> None:
    """Give the lab's links this rate, or none."""
    subprocess.run([sys.executable, "-m", "lab", "up", *rate], check=True, stdout=subprocess.DEVNULL)


def machine() -> str:
    """Say what this ran on."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, lab at {RATE_BIT_S / 1e6:.0f} Mbit/s"


def versions() -> dict[str, str]:
    """Say what ran."""
    told = subprocess.run(["mpirun", "--version"], capture_output=True, text=True) if not mpi.missing() else None
    openmpi = told.stdout.splitlines()[0].split()[-1] if told else "none"
    return {"python": platform.python_version(), "torch": torch.__version__, "openmpi": openmpi}


if __name__ == "__main__":
    main()
