"""The ingest tick frees what it read: a circle of objects would hold all events until the garbage collector comes."""

import gc

from contract.folder.events import Points, Started
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from tests.testing.events import report


def test_a_tick_leaves_nothing_of_what_it_read_in_memory(context: Context, run_ids: list[int]) -> None:
    submit_queued(context)
    started = Started(attempt=1, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})
    points = [Points(attempt=1, at=float(step), step=step, values={"loss": 1.0}) for step in range(1, 200)]
    report(context, run_ids[0], started, *points)
    del points
    gc.collect()
    gc.disable()
    try:
        ingest(context)
        left = [one for one in gc.get_objects() if isinstance(one, Points)]
    finally:
        gc.enable()
    assert not left, "an error whose traceback holds it keeps the frames of its callers, with all events"
