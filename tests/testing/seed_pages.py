"""Seed a database with what the pages of a report and of a node's metrics show; after the runs of seed_dashboard."""

import base64
import math
from typing import Any

from sqlalchemy import Engine

from contract.folder.events import Points
from contract.metric_names import name_of_system
from store.metrics import points
from store.saved.reports import add_block, add_report
from store.session import transaction

HOSTS = ("cpu-1", "cpu-2")
MEASURED = 1  # the run with metrics of its nodes: the first one
WIDE = b"<svg xmlns='http://www.w3.org/2000/svg' width='3000' height='300'><rect width='3000' height='300'/></svg>"
BLOCKS: tuple[dict[str, Any], ...] = (
    {"kind": "text", "markdown": "**LARS** holds up to a batch of 1,024:\n\n- see [the paper](https://arxiv.org)\n"},
    {"kind": "runs", "title": "The best runs", "run_ids": [5, 6, 7], "columns": ["batch", "best(heldout_accuracy)"]},
    {
        "kind": "picture",
        "title": "Loss by step",
        "image": "data:image/svg+xml;base64," + base64.b64encode(WIDE).decode(),
        "csv": "run,step,loss\n5,1,2.5\n",
        "run_ids": [5],
        "address": "/compare?runs=5",
    },
)


def seed_pages(engine: Engine) -> dict[str, int]:
    """Store a report with each kind of block, and a run's metrics of its nodes; return the ids that tests use."""
    with transaction(engine) as db:
        report = add_report(db, "What the batch changes", "ada")
        for content in BLOCKS:
            add_block(db, report, content)
        points.put(db, MEASURED, [Points(attempt=1, at=0.0, step=second, values=_of(second)) for second in range(90)])
        return {"report": report.id, "measured": MEASURED}


def _of(second: int) -> dict[str, float | None]:
    metrics = {"cpu": 0.5 + 0.4 * math.sin(second / 9), "memory_bytes": 4e9 + 1e7 * second, "gpu-0/busy": 0.93}
    return {name_of_system(name, host): value for host in HOSTS for name, value in metrics.items()}
