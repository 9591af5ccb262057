"""A program whose ranks print a loss per step, as fast as they can and in two writes each; and what must be stored."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.testing.service import Service

OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)", "rank": "any"}
SCRIPT = """
import os, sys
steps, before = int(sys.argv[1]), b"x" * int(sys.argv[2])
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
for step in range(1 + rank, steps + 1, world):
    line = b"%sstep %d loss %.6f\\n" % (before, step, step * 7919 % 1000003 / 1000003)
    os.write(1, line[:-4])
    os.write(1, line[-4:])
"""


def printing(steps: int, *, before: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the fields of a program whose ranks share these steps; `before` characters precede each of them."""
    return {"command": [sys.executable, "-c", SCRIPT, str(steps), str(before)], "metrics": [OUTPUT], **fields}


def faults_of(points: Iterable[tuple[int, float | None]], steps: int) -> list[str]:
    """Return in words which of the printed steps are missing, there twice, or wrong."""
    losses = list(points)
    counts = Counter(step for step, _ in losses)
    found: dict[str, Sequence[object]] = {
        "missing": [step for step in range(1, steps + 1) if step not in counts],
        "more than once": [step for step, count in counts.items() if count > 1],
        "wrong": [(step, loss) for step, loss in losses if loss != float(f"{step * 7919 % 1000003 / 1000003:.6f}")],
    }
    return [f"{len(some)} steps are {name}, such as {some[:3]}" for name, some in found.items() if some]


def stored_points(service: Service, run_id: int) -> list[tuple[int, float | None]]:
    """Return every point of the loss that the service has."""
    answer = service.ask("GET", "/export/points", params={"run": run_id, "name": "loss", "format": "csv"}, timeout=300)
    answer.raise_for_status()
    return [(int(row["step"]), float(row["value"])) for row in csv.DictReader(io.StringIO(answer.text))]
