"""Do gradients meet while backward goes on? A DDP step by our hook beside its parts, and beside plain DDP over gloo.

The batch is chosen so that backward takes about as long as the sums over links of 200 Mbit/s. A step, here a backward
pass with its sums, that hid one behind the other would take as long as the longer of the two: `ratio` is the step's
time over that.

`make bench NAME=ddp_overlap` writes benchmarks/results/ddp_overlap.json; options try a part of it and print only:
`python -m benchmarks.ddp_overlap --layout 2x2 --bucket-mb 4 --repeats 3`.
"""

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from benchmarks.allreduce.benchmark import machine, shape, versions
from benchmarks.launcher import on_ranks

LAYOUTS = ["2x1"]  # a core to each rank, on two cores
BUCKETS_MB = [1.0]  # a layer to a bucket
RESULTS = Path(__file__).parents[1] / "results" / "ddp_overlap.json"


def main() -> None:
    """Measure, print, and write the report if all was measured."""
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by TERM; nothing was written"))
    shape("--rate", "200mbit")
    try:
        rows = [row for layout in options.layout or LAYOUTS for row in measured(layout, options)]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        shape()
    if not (options.layout or options.bucket_mb):
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"machine": machine(), "versions": versions(), "rows": rows}, indent=1) + "\n")


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", action="append", help="hosts x ranks per host, as 2x2")
    parser.add_argument("--bucket-mb", action="append", type=float, help="DDP's bucket_cap_mb")
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def measured(layout: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure one layout, and print its rows."""
    hosts, per_host = map(int, layout.split("x"))
    names = [f"gpu{i + 1}" for i in range(hosts)]
    task = {"buckets_mb": options.bucket_mb or BUCKETS_MB, "repeats": options.repeats}
    rows = on_ranks("benchmarks.ddp_overlap.rank", names, per_host, task)
    for row in rows:
        told = "  ".join(f"{name[:-2]} {row[name]:.3f} s" for name in row if name.endswith("_s"))
        print(f"{layout}  buckets of {row['bucket_mb']:g} MB, batch {row['batch']}:  {told}  ratio {row['ratio']:.3f}")
    sys.stdout.flush()
    return [{"hosts": hosts, "ranks_per_host": per_host, **row} for row in rows]


if __name__ == "__main__":
    main()
