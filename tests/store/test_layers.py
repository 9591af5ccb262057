"""The two layers of points: a series has the points of a plain map, whatever happens, and its cells sum them up."""

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from contract.folder.events import Points, Resumed
from store import runs
from store.metrics import cell_blocks, cells, chunk_rows, chunks, curves, points, series
from store.metrics.cells import HAS_INFINITY, HAS_MINUS_INFINITY, HAS_NAN, Cells
from store.metrics.table import CellBlock, Chunk, Series
from store.session import transaction
from tests.testing.specs import Experiment

STEPS = st.integers(0, 3_000) | st.integers(0, 2**31 - 1)
VALUES = st.floats(width=32) | st.floats() | st.none()
SOME = st.lists(VALUES, min_size=1, max_size=5)
APPENDS = st.tuples(st.just("append"), st.integers(1, 400), st.integers(1, 40), SOME)
WRITES = st.tuples(st.just("write"), st.lists(st.tuples(STEPS, VALUES), min_size=1, max_size=60))
RESUMES = st.tuples(st.just("resume"), STEPS)
ACTIONS = st.lists(APPENDS | WRITES | RESUMES, max_size=12)


@pytest.fixture
def small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every border frequent: chunks of 40 points, three newest points, blocks of 16 cells of 4 steps."""
    for module in (chunks, chunk_rows, cell_blocks, curves):
        monkeypatch.setattr(module, "CHUNK", 40, raising=False)
    monkeypatch.setattr(chunks, "FOLD", 8)
    monkeypatch.setattr(cells, "FINEST", 4)
    monkeypatch.setattr(cells, "POINTS_OF_CELL", 4)
    for module in (cells, cell_blocks):
        monkeypatch.setattr(module, "BLOCK", 16)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_every_cell_is_what_its_points_sum_up_to(
    engine: Engine, experiment: Experiment, small_layers: None, actions: Sequence[tuple[object, ...]]
) -> None:
    """Forces random appends, repeated and late steps, resumes, NaN, infinities and large values."""
    with transaction(engine) as db:
        (run_id,) = runs.create(db, experiment())[1]
        model: dict[int, float] = {}
        for action in actions:
            events = _events(action, model)
            points.put(db, run_id, events)
            for event in events:
                _apply(model, event)
            _check(db, run_id, model)


def test_layers_of_the_usual_size(engine: Engine, experiment: Experiment) -> None:
    with transaction(engine) as db:
        (run_id,) = runs.create(db, experiment())[1]
        model: dict[int, float] = {}
        for first in range(0, 60_000, 7_000):
            events = [_points(step, math.sin(step)) for step in range(first, first + 7_000)]
            points.put(db, run_id, events)
            for event in events:
                _apply(model, event)
        _check(db, run_id, model)
        for event in (Resumed(attempt=2, at=0.0, step=30_000, lost_steps=1), _points(30_001, math.inf)):
            points.put(db, run_id, [event])
            _apply(model, event)
        _check(db, run_id, model)
        (found,) = series.states(db, Series.run_id == run_id)
        assert cells.level_count(found.cell_width, 0, found.chunked_to) == 2


def _points(step: int, value: float | None) -> Points:
    return Points.model_construct(kind="points", attempt=1, at=0.0, step=step, values={"loss": value})


def _events(action: tuple[object, ...], model: dict[int, float]) -> list[Points | Resumed]:
    match action:
        case ("append", int(count), int(spacing), list(values)):
            first = max(model, default=-1) + 1
            steps = [step for step in range(first, first + count * spacing, spacing) if step < 2**31]
            return [_points(step, values[number % len(values)]) for number, step in enumerate(steps)]
        case ("write", list(pairs)):
            return [_points(step, value) for step, value in pairs]
        case ("resume", int(step)):
            return [Resumed(attempt=1, at=0.0, step=step, lost_steps=0)]
    raise AssertionError(action)


def _apply(model: dict[int, float], event: Points | Resumed) -> None:
    if isinstance(event, Resumed):
        for step in [step for step in model if step > event.step]:
            del model[step]
    else:
        value = event.values["loss"]
        model[event.step] = math.nan if value is None else value


def _check(db: Session, run_id: int, model: dict[int, float]) -> None:
    for state, stored in curves.whole(db, series.states(db, Series.run_id == run_id)):
        assert stored.steps.tolist() == sorted(model)
        assert all(_same(value, model[step]) for step, value in zip(*map(list, stored), strict=True))
        rows = db.execute(select(Chunk).where(Chunk.series_id == state.id).order_by(Chunk.first_step)).scalars().all()
        assert all(one.last_step < two.first_step for one, two in pairwise(rows))
        assert all(0 < row.count <= chunk_rows.CHUNK for row in rows)
        assert [row.first_step for row in rows[:1]] == [state.first_step][: len(rows)]
        chunked = {step: value for step, value in model.items() if step <= state.chunked_to}
        _check_cells(db, state, chunked)
        db.expire_all()


def _check_cells(db: Session, state: series.SeriesState, model: dict[int, float]) -> None:
    stored = set(db.scalars(select(CellBlock.level).where(CellBlock.series_id == state.id)))
    if not state.cell_width:
        assert stored == set()
        return
    levels = cells.level_count(state.cell_width, min(model), max(model))
    assert stored == set(range(levels))
    for level in range(levels):
        found = cell_blocks.read_cells(db, [state.id], level, cell_blocks.Span(0, cell_blocks.FAR))[state.id]
        _check_level(found, model, state.cell_width * cells.RATIO**level)


def _check_level(found: Cells, model: dict[int, float], width: int) -> None:
    groups: dict[int, list[float]] = {}
    for step in sorted(model):
        groups.setdefault(step // width, []).append(model[step])
    assert found.number.tolist() == sorted(groups)
    for cell in zip(*(column.tolist() for column in found), strict=True):
        number, count, finite, flags, least, most, mean, last = cell
        values = groups[number]
        real = [value for value in values if math.isfinite(value)]
        assert (count, finite) == (len(values), len(real))
        assert _same(last, values[-1])
        expected = HAS_NAN * any(map(math.isnan, values)) + HAS_INFINITY * (math.inf in values)
        assert flags == expected + HAS_MINUS_INFINITY * (-math.inf in values)
        if not real:
            assert all(map(math.isnan, (least, most, mean)))
            continue
        assert (least, most) == (min(real), max(real))
        room = 1e-12 * max(abs(least), abs(most))  # a mean of large values of both signs is near zero
        assert math.isclose(mean, math.fsum(value / len(real) for value in real), rel_tol=1e-9, abs_tol=room + 1e-300)


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))
