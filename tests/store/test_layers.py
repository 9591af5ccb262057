"""The two layers of points: a series has the points of a plain map, whatever happens, and its cells sum them up."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from contract.folder.events import Points
from store.lifecycle import creation
from store.metrics import cell_blocks, cells, chunk_rows, chunks, curves, packing, points, series
from store.metrics.cells import HAS_INFINITY, HAS_MINUS_INFINITY, HAS_NAN, Cells
from store.metrics.retention import remove_points_of
from store.session import transaction
from store.tables.points import CellBlock, Chunk, Series
from tests.testing.specs import Experiment

STEPS = st.integers(0, 3_000) | st.integers(0, 2**31 - 1)
VALUES = st.floats(width=32) | st.floats() | st.none()
SOME = st.lists(VALUES, min_size=1, max_size=5)
APPENDS = st.tuples(st.just("append"), st.integers(1, 400), st.integers(1, 40), SOME)
WRITES = st.tuples(st.just("write"), st.lists(st.tuples(STEPS, VALUES), min_size=1, max_size=60))
RESUMES = st.tuples(st.just("resume"), st.floats(0, 1), st.integers(1, 200), SOME)
REMOVALS = st.tuples(st.just("remove"), st.integers(1, 12))
ACTIONS = st.lists(APPENDS | WRITES | RESUMES | REMOVALS, max_size=12)


@pytest.mark.ring("all")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS, limit=st.integers(1, 90))
def test_every_cell_is_what_its_points_sum_up_to(
    engine: Engine, experiment: Experiment, small_layers: None, actions: Sequence[tuple[Any, ...]], limit: int
) -> None:
    """Forces random appends, repeated and late steps, resumes, half removals, NaN, infinities and large values."""
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        model: dict[int, float] = {}
        was_removed = False
        for action in actions:
            if action[0] == "remove":
                was_removed = True
                remove_points_of(db, run_id, action[1])
                _forget_removed(db, run_id, model)
            else:
                events = _events(action, model)
                points.put(db, run_id, events)
                model |= {event.step: _stored(event.values["loss"]) for event in events}
            _check(db, run_id, model, may_lack_cells=was_removed)
        assert _read_in_parts(db, run_id, limit) == sorted(model)


@pytest.mark.ring("all")
def test_layers_of_the_usual_size(engine: Engine, experiment: Experiment) -> None:
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        model: dict[int, float] = {}
        for first in [*range(0, 60_000, 7_000), 30_001, 30_002]:
            events = [_points(step, math.sin(first + step)) for step in range(first, first + 7_000)]
            points.put(db, run_id, events)
            model |= {event.step: _stored(event.values["loss"]) for event in events}
        _check(db, run_id, model)
        points.put(db, run_id, [_points(30_001, math.inf), _points(2**31 - 1, None)])
        model |= {30_001: math.inf, 2**31 - 1: math.nan}
        _check(db, run_id, model)
        (found,) = series.states(db, Series.run_id == run_id)
        assert cells.level_count(found.cell_width, 0, found.chunked_to) == 2


def test_two_distant_late_points_change_two_chunks(
    engine: Engine, experiment: Experiment, small_layers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a program that reports one series with two counters of steps, thousands of chunks apart."""
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        points.put(db, run_id, [_points(step, 1.0) for step in range(1, 4_001)])
        stored, store = list[tuple[int, packing.Points]](), chunks.store_chunks
        monkeypatch.setattr(chunks, "store_chunks", lambda db, rows: (stored.extend(rows), store(db, rows)))
        points.put(db, run_id, [_points(5, 2.0), _points(3_500, 2.0)])
        assert [len(piece.steps) for _, piece in stored] == [40, 40]
        _check(db, run_id, dict.fromkeys(range(1, 4_001), 1.0) | {5: 2.0, 3_500: 2.0})


def _points(step: int, value: float | None) -> Points:
    return Points.model_construct(kind="points", attempt=1, at=0.0, step=step, values={"loss": value})


def _events(action: tuple[Any, ...], model: dict[int, float]) -> list[Points]:
    match action:
        case ("append", count, spacing, values):
            first = max(model, default=-1) + 1
            steps = [step for step in range(first, first + count * spacing, spacing) if step < 2**31]
            return [_points(step, values[number % len(values)]) for number, step in enumerate(steps)]
        case ("write", pairs):
            return [_points(step, value) for step, value in pairs]
        case ("resume", position, count, values):
            first = int(position * max(model, default=0))
            return [_points(step, values[step % len(values)]) for step in range(first, first + count) if step < 2**31]
    raise AssertionError(action)


def _stored(value: float | None) -> float:
    return math.nan if value is None else value


def _forget_removed(db: Session, run_id: int, model: dict[int, float]) -> None:
    """Take the first points out of the model until it has those of the store."""
    stored = {step for _, found in curves.whole(db, series.states(db, Series.run_id == run_id)) for step in found.steps}
    assert sorted(stored) == sorted(model)[len(model) - len(stored) :]
    for step in model.keys() - stored:
        del model[step]


def _read_in_parts(db: Session, run_id: int, limit: int) -> list[int]:
    steps, after, more = list[int](), -1, True
    while more:
        found, more = curves.of_run(db, run_id, ["loss"], after=after, limit=limit)
        steps += found["loss"][0]
        after = steps[-1] if steps else -1
    return steps


def _check(db: Session, run_id: int, model: dict[int, float], *, may_lack_cells: bool = False) -> None:
    for state, stored in curves.whole(db, series.states(db, Series.run_id == run_id)):
        assert stored.steps.tolist() == sorted(model)
        assert all(_same(value, model[step]) for step, value in zip(*map(list, stored), strict=True))
        rows = db.execute(select(Chunk).where(Chunk.series_id == state.id).order_by(Chunk.first_step)).scalars().all()
        assert all(one.last_step < two.first_step for one, two in pairwise(rows))
        assert all(0 < row.count <= chunk_rows.CHUNK for row in rows)
        assert [row.first_step for row in rows[:1]] == [state.first_step][: len(rows)]
        # a late point may join two chunks into one, which keeps its cells
        assert state.cell_width > 0 or len(rows) <= 1 or may_lack_cells
        if state.cell_width:
            _check_cells(db, state, {step: value for step, value in model.items() if step <= state.chunked_to})
        db.expire_all()


def _check_cells(db: Session, state: series.SeriesState, model: dict[int, float]) -> None:
    levels = cells.level_count(state.cell_width, min(model), max(model))
    assert set(db.scalars(select(CellBlock.level).where(CellBlock.series_id == state.id))) == set(range(levels))
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
