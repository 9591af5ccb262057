"""The overlap of backward pass and all-reduce in a DDP step with Bigbatch's hook, compared with plain DDP over gloo.

The batch size is such that the backward pass takes about as long as the all-reduce over links of 200 Mbit/s. A step is
a backward pass with its all-reduce. With perfect overlap a step takes as long as the longer of the two parts; `ratio`
is the time of a step divided by this time.

`make bench NAME=ddp_overlap` writes benchmarks/results/ddp_overlap.json; options measure a part and only print:
`python -m benchmarks.ddp_overlap --layout 2x2 --bucket-mb 4 --repeats 3`.
"""

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from benchmarks.allreduce.benchmark import machine, versions
from benchmarks.launcher import lab_hosts, run_ranks, shape_links

LAYOUTS = ["2x1"]  # one core per rank on two cores
BUCKETS_MB = [1.0]  # one layer per bucket
RESULTS = Path(__file__).parents[1] / "results" / "ddp_overlap.json"


def main() -> None:
    """Measure and print; write the report if everything was measured."""
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; no report was written"))
    shape_links("--rate", "200mbit")
    try:
        rows = [row for layout in options.layout or LAYOUTS for row in measure_layout(layout, options)]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        shape_links()
    if not (options.layout or options.bucket_mb):
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"machine": machine(), "versions": versions(), "rows": rows}, indent=1) + "\n")


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", action="append", help="hosts x ranks per host, such as 2x2")
    parser.add_argument("--bucket-mb", action="append", type=float, help="DDP's bucket_cap_mb")
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def measure_layout(layout: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure one layout and print its rows."""
    hosts, per_host = map(int, layout.split("x"))
    names = lab_hosts(hosts)
    task = {"buckets_mb": options.bucket_mb or BUCKETS_MB, "repeats": options.repeats}
    rows = run_ranks("benchmarks.ddp_overlap.rank", names, per_host, task)
    for row in rows:
        times = "  ".join(f"{name[:-2]} {row[name]:.3f} s" for name in row if name.endswith("_s"))
        print(f"{layout}  buckets of {row['bucket_mb']:g} MB, batch {row['batch']}:  {times}  ratio {row['ratio']:.3f}")
    sys.stdout.flush()
    return [{"hosts": hosts, "ranks_per_host": per_host, **row} for row in rows]


if __name__ == "__main__":
    main()
