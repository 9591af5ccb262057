"""The parts of the data-parallel table, one by one (Kumar et al., 2017): what each costs a step.

`make bench NAME=headline.data_table` writes benchmarks/results/data_table.json. Torch's data-parallel table, as the
authors found it, had three parts that they replaced. Here four ranks of one host are the devices of a table:

- `staged`: the first device takes the whole batch, and sends each device its samples. In a run of the engine every
  device takes its own.
- `central_loss`: the first device gathers all outputs, computes the loss, and sends the gradients back. In a run every
  device computes the loss of its own samples.
- `joined`: all devices wait for each other after every phase. In a run none waits before the sum of the gradients.

The benchmark measures a step without these parts, with each one alone, and with all. Forward, backward, the sum of the
gradients (a ring in shared memory) and the messages are real. Every rank is a device of SHARE of a core (cpu_quota.py),
so what the first device does alone costs time, as it does on GPUs.
"""

import os
import sys
from typing import Any

from benchmarks.headline.cpu_quota import missing
from benchmarks.headline.report import write
from benchmarks.launcher import run_ranks

RANKS, SHARE = 4, 0.4
BATCH, PIXELS, CLASSES = 64, 64, 1000  # samples of a rank, pixels of a side
PARTS = ["staged", "central_loss", "joined"]
CASES = [[], *([part] for part in PARTS), PARTS]
ROUNDS, STEPS = 5, 4  # the cases take turns; each turn takes so many steps


def main() -> None:
    """Measure, print and write the report."""
    if reason := missing():
        sys.exit(reason)
    load = os.getloadavg()[0]
    sizes = {"batch": BATCH, "pixels": PIXELS, "classes": CLASSES}
    task: dict[str, Any] = {**sizes, "cases": CASES, "rounds": ROUNDS, "steps": STEPS, "share": SHARE}
    steps_s = run_ranks("benchmarks.headline.data_table_rank", [""], RANKS, task)
    rows = [
        {"parts": parts, "step_s": step_s, "over_none": step_s / steps_s[0]}
        for parts, step_s in zip(CASES, steps_s, strict=True)
    ]
    for row in rows:
        print(f"{' + '.join(row['parts']) or 'none':32} {row['step_s'] * 1e3:7.1f} ms  {row['over_none']:.3f} x")
    write("data_table", "no links", load, ranks=RANKS, share_of_a_core=SHARE, **sizes, rows=rows)


if __name__ == "__main__":
    main()
