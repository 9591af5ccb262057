"""The lag of ingestion: how long new points had waited in their files when they were stored."""

import time

from contract.folder.events import Points
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from tests.testing.events import STARTED, report


def test_the_age_of_the_first_new_point_is_counted(context: Context, run_ids: list[int]) -> None:
    submit_queued(context)
    report(context, run_ids[0], STARTED)
    ingest(context)
    assert context.memory.tick_counts["ingest"].reports == 0, "a start has no point"
    points = [
        Points(attempt=1, at=time.time() - age_s, step=step, values={"loss": 1.0})
        for step, age_s in enumerate((40.0, 30.0), 1)
    ]
    report(context, run_ids[0], *points)
    ingest(context)
    counts = context.memory.tick_counts["ingest"]
    assert counts.reports == 1
    assert 40.0 <= counts.lag_s < 600.0
