"""Figures: they are what the stored points sum up to, also where a resumed attempt repeats steps."""

from math import isclose

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from contract.folder.events import Points
from contract.lifecycle.divergence import Diverged
from contract.lifecycle.reason import RetryRequested, RunFailed
from contract.lifecycle.state import State
from store import transitions
from store.lifecycle import creation
from store.lifecycle.deletion import remove_rows
from store.metrics import points
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.experiments import ExperimentField
from store.tables.points import Figure
from store.tables.runs import Run, RunField
from tests.testing.specs import Experiment
from tests.testing.statements import executed
from tests.testing.stored_runs import TO_RUNNING, move

VALUES = st.one_of(st.none(), st.floats(-1e300, 1e300))
BATCHES = st.lists(st.dictionaries(st.integers(0, 30), VALUES, min_size=1, max_size=8), min_size=1, max_size=6)


@pytest.fixture
def run_id(engine: Engine, experiment: Experiment) -> int:
    with transaction(engine) as db:
        return creation.create(db, experiment({"seed": [0, 1]}))[1][0]


@pytest.mark.ring("all")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_figures_are_those_of_all_stored_points(
    engine: Engine, experiment: Experiment, batches: list[dict[int, float | None]]
) -> None:
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
    for batch in batches:
        with transaction(engine) as db:
            reported = [Points(attempt=1, at=0.0, step=step, values={"loss": x}) for step, x in batch.items()]
            points.put(db, run_id, reported)
    stored = {step: value for batch in batches for step, value in batch.items()}
    finite = [value for value in stored.values() if value is not None]
    with snapshot(engine) as db:
        (found,) = db.scalars(select(Figure).where(Figure.run_id == run_id)).all()
    assert (found.last_step, found.last, found.size) == (max(stored), stored[max(stored)], len(finite))
    assert (found.least, found.most) == (min(finite, default=None), max(finite, default=None))
    if finite:
        expected = sum(value / len(finite) for value in finite)
        assert found.mean is not None
        assert isclose(found.mean, expected, rel_tol=1e-9, abs_tol=1e-9 * max(map(abs, finite)))


def test_the_mean_of_the_largest_numbers_is_a_number(engine: Engine, run_id: int) -> None:
    for step, value in enumerate([-1.7e308, 1.7e308, 1.7e308, 1.7e308]):
        with transaction(engine) as db:
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=step, values={"loss": value})])
    with snapshot(engine) as db:
        mean = db.scalars(select(Figure.mean)).one()
    assert mean is not None
    assert isclose(mean, 0.85e308)


def test_series_of_single_ranks_have_no_figures(engine: Engine, run_id: int) -> None:
    with transaction(engine) as db:
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=1, values={"loss": 1.0, "loss/rank-3": 2.0})])
    with snapshot(engine) as db:
        assert db.scalars(select(Figure.name)).all() == ["loss"]


def test_a_deleted_run_leaves_no_figures_and_no_fields(engine: Engine, run_id: int) -> None:
    with transaction(engine) as db:
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=1, values={"loss": 1.0})])
        db.get_one(Run, run_id).deleted_at = now()
        db.get_one(Run, run_id + 1).deleted_at = now()
        db.flush()
        assert all(remove_rows(db, one, 100) for one in (run_id, run_id + 1))
        assert db.scalars(select(Figure.name)).all() == []
        assert db.scalars(select(RunField.path)).all() == []
        assert db.scalars(select(ExperimentField.path)).all()


VALUES_OF_ENDS = st.sampled_from([1.0, float("nan"), float("inf")])
PARTS = st.lists(st.dictionaries(st.integers(0, 60), VALUES_OF_ENDS, min_size=1, max_size=20), min_size=1, max_size=5)


@pytest.mark.usefixtures("small_layers")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(parts=PARTS)
def test_a_run_has_diverged_from_the_first_step_after_its_last_finite_value(
    engine: Engine, experiment: Experiment, parts: list[dict[int, float]]
) -> None:
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
    stored: dict[int, float] = {}
    for part in parts:
        stored |= part
        with transaction(engine) as db:
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=n, values={"val/x": x}) for n, x in part.items()])
        steps = sorted(stored)
        finite = [step for step in steps if stored[step] == 1.0]
        tail = [step for step in steps if not finite or step > finite[-1]]
        with snapshot(engine) as db:
            found = db.get_one(Run, run_id).diverged
        word = str(stored[steps[-1]])
        assert found == (Diverged(metric="val/x", step=tail[0], value=word) if tail else None)


def test_a_value_that_recovers_is_no_divergence_and_the_earliest_metric_names_it(engine: Engine, run_id: int) -> None:
    def put(step: int, **values: float) -> Diverged | None:
        with transaction(engine) as db:
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=step, values=dict(values))])
            return db.get_one(Run, run_id).diverged

    assert put(1, loss=1.0, grad=float("inf")) == Diverged(metric="grad", step=1, value="inf")
    assert put(2, loss=1.0, grad=1.0) is None
    assert put(3, loss=float("nan"), grad=float("nan")) == Diverged(metric="loss", step=3, value="nan")
    assert put(4, loss=-float("inf"), grad=1.0) == Diverged(metric="loss", step=3, value="-inf")


def test_a_failure_that_names_a_divergence_is_one_until_the_run_is_retried(engine: Engine, run_id: int) -> None:
    with transaction(engine) as db:
        run = db.get_one(Run, run_id)
        for state in TO_RUNNING:
            move(db, run, state)
        reason = RunFailed(message="rank 0: Diverged: at step 13 the loss is nan")
        transitions.apply(db, run, None, transitions.Transition(State.FAILED, reason))
        assert run.diverged == Diverged(step=13)
    with transaction(engine) as db, executed(engine) as statements:
        transitions.queue_ended(db, [run_id], State.FAILED, RetryRequested())
    assert len(updates_of_runs(statements)) == 2, "the state, and the divergence that is gone"
    with snapshot(engine) as db:
        assert db.get_one(Run, run_id).diverged is None


def test_a_retry_of_runs_that_did_not_diverge_writes_no_divergence(engine: Engine, run_id: int) -> None:
    with transaction(engine) as db:
        for state in (*TO_RUNNING, State.FAILED):
            move(db, db.get_one(Run, run_id), state)
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=3, values={"grad": float("nan")})])
    with transaction(engine) as db, executed(engine) as statements:
        transitions.queue_ended(db, [run_id], State.FAILED, RetryRequested())
        assert db.get_one(Run, run_id).diverged == Diverged(metric="grad", step=3, value="nan")
    assert len(updates_of_runs(statements)) == 1, "the state alone: the metric shows the same divergence"


def updates_of_runs(statements: list[str]) -> list[str]:
    """Return the statements that change the table of runs."""
    return [one for one in statements if one.startswith("UPDATE runs ")]
