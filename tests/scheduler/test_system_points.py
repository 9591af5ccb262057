"""The system metrics of nodes: series of their own, which are no part of a run's progress."""

import pytest
from sqlalchemy import select

from contract.folder.events import Points
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.metrics import curves, points
from store.session import snapshot
from store.tables.points import Figure
from tests.scheduler.test_rank_points import folder_of, log_points
from tests.testing.events import STARTED, report
from tests.testing.runs import read


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    submit_queued(context)
    report(context, run_ids[0], STARTED)
    ingest(context)
    return run_ids[0]


def test_nodes_have_series_of_their_own_that_are_no_part_of_the_run_s_progress(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    report(context, run_id, Points(attempt=1, at=1.0, step=1, values={"loss": 1.0}))
    log_points(folder, 1, [1])
    path = folder.path / "points" / "system-cpu-3.jsonl"
    path.write_text(
        '{"kind":"points","attempt":1,"at":1.0,"step":15,"values":{"cpu":0.5,"gpu-0/busy":0.25}}\n'
        '{"kind":"points","attempt":1,"at":1.0,"step":30,"values":{"cpu":1.0}}\n'
    )
    (path.parent / "system-..jsonl").write_text("{}\n")  # no name of a host
    ingest(context)
    with snapshot(context.engine) as db:
        names = ["loss", "loss/rank-1", "system/cpu-3/cpu", "system/cpu-3/gpu-0/busy"]
        assert points.names(db, run_id) == names
        found = curves.of_run(db, run_id, ["system/cpu-3/cpu"], after=-1, limit=100)[0]["system/cpu-3/cpu"]
        assert found == ([15, 30], [0.5, 1.0])
        assert [name for (name,) in db.execute(select(Figure.name))] == ["loss"]
    run = read(context, run_id)
    assert (run.latest, run.step) == ({"loss": 1.0}, 1)
    assert sorted(run.rank_cursors) == ["1", "system-cpu-3"]
