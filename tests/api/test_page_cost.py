"""What the pages of an experiment cost the service and the network does not grow with its runs."""

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.metric_names import LOSS
from store.metrics.chunks import write_points
from store.metrics.packing import Points
from store.metrics.series import ids_of
from store.session import transaction
from tests.testing.seed_table import add_runs
from tests.testing.statements import executed

FEW, MANY = 300, 1_500  # more than a page of any list
MAX_BYTES = 1_000_000
COLUMNS = "column=state&column=duration&column=last(loss)&column=last(heldout_accuracy)&column=best(heldout_accuracy)"
PAGES = {  # the requests of each page, as the dashboard sends them
    "answer": ["/experiments/{id}", "/experiments/{id}/runs?after=-1", "/experiments/{id}/answer"],
    "curves": ["/experiments/{id}/curves?name=heldout_accuracy&buckets=1500", "/experiments/{id}/checkpoints"],
    "table": ["/runs/names", f"/runs/table?experiment={{id}}&{COLUMNS}&offset=0&limit=100"],
    "groups": ["/runs/groups?where=experiment+%3D+{id}&by=batch&figure=loss"],
    "compare": [f"/runs/table?where=experiment+%3D+{{id}}&{COLUMNS}&offset=0&limit=500"],
}


@pytest.mark.ring("all")
def test_no_page_of_a_large_experiment_takes_more_statements_or_a_megabyte(
    client: TestClient, sqlite_engine: Engine
) -> None:
    add_runs(sqlite_engine, 1, FEW)
    add_runs(sqlite_engine, 1, MANY, seed=1)
    assert client.get(f"/api/v1/runs/{FEW + 1}").status_code == 200
    for page, requests in PAGES.items():
        statements, sizes = [], []
        for experiment_id in (1, 2):
            with executed(sqlite_engine) as found:
                answers = [client.get(f"/api/v1{path.format(id=experiment_id)}") for path in requests]
            assert {answer.status_code for answer in answers} == {200}, [answer.text[:300] for answer in answers]
            statements.append(len(found))
            sizes.append(sum(len(answer.content) for answer in answers))
        assert statements[1] <= statements[0], (page, statements)
        assert max(sizes) < MAX_BYTES, (page, sizes)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("runs", "request_of"),
    [
        (50, "/experiments/1/curves?name=loss&buckets=1500&{runs}"),
        (200, "/experiments/1/curves?name=loss&buckets=1500"),
        (500, "/runs/curves?name=loss&buckets=1500&{runs}"),
    ],
)
def test_the_curves_of_a_page_are_less_than_a_megabyte_on_the_wire(
    client: TestClient, sqlite_engine: Engine, runs: int, request_of: str
) -> None:
    """Noise is the worst case: no digit of it can be predicted."""
    add_runs(sqlite_engine, 1, runs)
    noise = np.random.default_rng(0)
    with transaction(sqlite_engine) as db:
        known = ids_of(db, [(run_id, LOSS) for run_id in range(1, runs + 1)], range(1, runs + 1))
        steps = np.arange(1, 3_001)
        write_points(db, {number: Points(steps, noise.standard_normal(len(steps))) for number in known.values()})
    query = "&".join(f"run={run_id}" for run_id in range(1, runs + 1))
    answer = client.get(f"/api/v1{request_of.format(runs=query)}", headers={"accept-encoding": "gzip"})
    assert answer.status_code == 200, answer.text[:300]
    curves = answer.json()["curves"]
    assert len(curves) == runs
    assert sum(len(curve["steps"]) for curve in curves) > 10_000
    assert int(answer.headers["content-length"]) < MAX_BYTES
