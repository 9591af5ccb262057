"""The seconds of the in-memory shuffle between hosts, from 2 to 6 of them (Kumar et al., 2017).

`make bench NAME=headline.shuffle` writes benchmarks/results/shuffle_hosts.json. The samples lie in the memory of H
ranks, one per host; a shuffle gives each of them to a random rank, so a host sends B / H (H - 1) / H of all B bytes and
receives as many. The paper shuffles 220 GB on 32 hosts in 4.2 s. `of the bound`: the shuffle's seconds over those in
which these bytes cross a host's link. benchmarks/input/shuffle.py measures the bookkeeping at ImageNet's size.
"""

import os
from typing import Any

from benchmarks.allreduce.benchmark import bits_per_second
from benchmarks.headline.report import shaped_links, write
from benchmarks.launcher import lab_hosts, run_ranks

RATE = "100mbit"
HOSTS = [2, 3, 4, 5, 6]
SAMPLES, SHORTEST, LONGEST = 4_000, 10_000, 20_000  # bytes of a sample, as an image
REPEATS = 5


def main() -> None:
    """Measure, print and write the report."""
    load, rows = os.getloadavg()[0], list[dict[str, Any]]()
    with shaped_links(RATE):
        for hosts in HOSTS:
            task = {"samples": SAMPLES, "shortest": SHORTEST, "longest": LONGEST, "repeats": REPEATS}
            found = run_ranks("benchmarks.headline.shuffle_rank", lab_hosts(hosts), 1, task)
            bound_s = found["busiest_bytes"] * 8 / bits_per_second(RATE)
            row = {"hosts": hosts, **found, "bound_s": bound_s, "over_bound": found["seconds"] / bound_s}
            print(
                f"{hosts} hosts: {found['bytes'] / 1e6:.0f} MB in {found['seconds']:.3f} s, {row['over_bound']:.2f} x "
                f"the link's bound; bookkeeping {found['bookkeeping_s']:.3f} s of it",
                flush=True,
            )
            rows.append(row)
    write("shuffle_hosts", RATE, load, samples=[SAMPLES, SHORTEST, LONGEST], rows=rows)


if __name__ == "__main__":
    main()
