"""Points in the store: told twice, kept once; read in columns, in parts, over many runs."""

import pytest
from sqlalchemy import Engine

from contract.folder.bounds import MAX_SERIES
from contract.folder.events import Points
from store import experiments
from store.lifecycle import creation
from store.metrics import curves, points
from store.session import snapshot, transaction
from store.tables.runs import Run
from tests.testing.specs import Experiment

pytestmark = pytest.mark.ring("quick")


def reported(step: int, **values: float | None) -> Points:
    return Points(attempt=1, at=0.0, step=step, values=values)


@pytest.fixture
def run_ids(engine: Engine, experiment: Experiment) -> list[int]:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": [0, 1]}))[1]


def test_a_step_told_twice_keeps_the_later_value(engine: Engine, run_ids: list[int]) -> None:
    for value in (1.0, 2.0):
        with transaction(engine) as db:
            points.put(db, run_ids[0], [reported(1, loss=value), reported(2, loss=value)])
    with snapshot(engine) as db:
        assert curves.of_run(db, run_ids[0], ["loss"], after=-1, limit=100)[0] == {"loss": ([1, 2], [2.0, 2.0])}


def test_what_is_not_finite_is_a_gap(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db:
        points.put(db, run_ids[0], [reported(1, loss=None)])
    with snapshot(engine) as db:
        assert curves.of_run(db, run_ids[0], ["loss"], after=-1, limit=100)[0] == {"loss": ([1], [None])}


@pytest.mark.parametrize("limit", [2, 3, 5, 7, 100])
def test_reading_on_from_the_last_step_gives_every_point_once(engine: Engine, run_ids: list[int], limit: int) -> None:
    with transaction(engine) as db:
        points.put(db, run_ids[0], [reported(step, a=float(step), b=float(-step)) for step in range(10)])
    steps, after, more = [], -1, True
    with snapshot(engine) as db:
        while more:
            found, more = curves.of_run(db, run_ids[0], ["a", "b"], after=after, limit=limit)
            assert found["a"][0] == found["b"][0]
            steps += found["a"][0]
            after = steps[-1]
    assert steps == list(range(10))


def test_curves_of_many_runs_begin_where_each_reader_left_off(engine: Engine, run_ids: list[int]) -> None:
    with transaction(engine) as db:
        for run_id in run_ids:
            points.put(db, run_id, [reported(step, loss=1.0 / (step + 1)) for step in range(4)])
    first, second = run_ids
    with snapshot(engine) as db:
        found, more = curves.of_experiment(db, run_ids, "loss", after={first: 2}, limit=100)
    assert (found[first][0], found[second][0], more) == ([3], [0, 1, 2, 3], False)


def test_a_thousand_series_and_ten_thousand_points_go_in_at_once(engine: Engine, run_ids: list[int]) -> None:
    names = {f"layer{n}": float(n) for n in range(1000)}
    with transaction(engine) as db:
        points.put(db, run_ids[0], [reported(step, **names) for step in range(10)])
    with snapshot(engine) as db:
        assert len(points.names(db, run_ids[0])) == 1000
        assert curves.of_run(db, run_ids[0], ["layer999"], after=-1, limit=100)[0]["layer999"][1] == [999.0] * 10


def test_the_value_of_a_runs_objective_is_that_of_its_stored_points(engine: Engine, run_ids: list[int]) -> None:
    """Forces the order: a lower value comes later, a resumed run repeats the best step, and a value is not finite."""
    for step, accuracy in ((1, 0.5), (2, 0.7), (3, 0.6), (2, 0.4), (4, None)):
        with transaction(engine) as db:
            points.put_many(db, {run_ids[0]: [reported(step, heldout_accuracy=accuracy)], run_ids[1]: []})
    with snapshot(engine) as db:
        best = [db.get_one(Run, run_id).objective_value for run_id in run_ids]
        (summary,) = experiments.summaries(db, [db.get_one(Run, run_ids[0]).experiment_id]).values()
    assert (best, summary.best) == ([0.6, None], (0.6, run_ids[0]))


def test_a_flood_of_names_is_dropped_before_it_takes_memory() -> None:
    """Forces the fault: a batch has a hundred thousand names, of which a run has room for 2,000."""
    flood = [
        Points(attempt=1, at=1.0, step=step, values={f"{step}-{number}": 1.0 for number in range(2_000)})
        for step in range(1, 6)
    ]
    last = Points(attempt=1, at=1.0, step=6, values={"loss": 1.0, "known": 2.0})
    found = points.collected([*flood, last], {"loss", "known"})
    assert len(found) == MAX_SERIES + 2
    assert (found["loss"], found["known"]) == (([6], [1.0]), ([6], [2.0]))
