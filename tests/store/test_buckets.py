"""Buckets of a curve: each is what its points sum up to, at every zoom, and a spike of one point is in one of them."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from store.lifecycle import creation
from store.metrics import chunk_rows, curves, series
from store.metrics.buckets import Buckets, bucket_width, in_buckets
from store.metrics.cells import cells_of
from store.metrics.chunks import write_points
from store.metrics.packing import Points
from store.metrics.retention import remove_points_of
from store.metrics.series import ids_of
from store.session import snapshot, transaction
from store.tables.points import Series
from tests.testing.specs import Experiment
from tests.testing.statements import recorded

FAR, MILLION = 2**31 - 1, 10**6
CURVES = st.lists(st.tuples(st.integers(1, 900), st.integers(1, 30), st.integers(0, 5_000)), min_size=1, max_size=3)
RANGES = st.tuples(st.integers(0, 9_000), st.integers(0, 9_000))


@pytest.mark.ring("all")
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=CURVES, ends=RANGES, buckets=st.integers(1, 200), removed=st.integers(0, 12))
def test_every_bucket_is_what_its_points_sum_up_to(
    engine: Engine,
    experiment: Experiment,
    small_layers: None,
    sizes: Sequence[tuple[int, int, int]],
    ends: tuple[int, int],
    buckets: int,
    removed: int,
) -> None:
    """Forces curves of all densities, with NaN and infinities, whole and in part, and one whose removal has begun."""
    first, last = sorted(ends)
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        model = {store(db, run_id, f"m{name}", *curve): curve for name, curve in enumerate(sizes)}
        if removed:
            remove_points_of(db, run_id, removed)
        points = {state.id: stored(db, state) for state in series.states(db, Series.run_id == run_id)}
        assert points.keys() == model.keys()
        wanted = [(state, first, last) for state in series.states(db, Series.run_id == run_id)]
        found = {each.state.id: each for each in in_buckets(db, wanted, buckets)}
        for series_id, all_points in points.items():
            check(found.get(series_id), all_points, first, last, buckets)


@pytest.mark.parametrize("spike_at", [1, 4_999, 77_777, 99_990, 100_000])
def test_a_spike_of_one_point_is_in_its_bucket_at_every_zoom(
    engine: Engine, experiment: Experiment, spike_at: int
) -> None:
    steps = np.arange(1, 100_001)
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        write_points(db, {series_of(db, run_id, "loss"): Points(steps, np.where(steps == spike_at, 50.0, 1.0 / steps))})
    length = 100_000
    while length > 10:
        first = max(0, spike_at - length // 3)
        with snapshot(engine) as db:
            wanted = [(state, first, first + length) for state in series.states(db, Series.run_id == run_id)]
            (found,) = in_buckets(db, wanted, 1000)
        cells = found.cells
        assert len(cells.number) <= 1001
        assert cells.most.max() == 50.0
        at = cells.number[cells.most == 50.0] * found.width
        assert at <= spike_at < at + found.width
        length //= 3


@pytest.mark.ring("all")
@pytest.mark.parametrize("spike_at", [1, 777_777, MILLION])
def test_a_spike_of_one_point_in_a_million_is_in_its_bucket_at_every_zoom(
    engine: Engine, experiment: Experiment, spike_at: int
) -> None:
    """Forces the whole curve, and ranges of all lengths, down to the point alone, with the spike anywhere in them."""
    steps, dice = np.arange(1, MILLION + 1), random.Random(spike_at)
    with transaction(engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        write_points(db, {series_of(db, run_id, "loss"): Points(steps, np.where(steps == spike_at, 50.0, 1.0 / steps))})
    ranges = [(0, FAR), (1, MILLION), (spike_at, spike_at)]
    for length in [MILLION >> halvings for halvings in range(20)] * 3:
        first = spike_at - dice.randint(0, length)
        ranges.append((max(0, first), max(0, first) + length))
    with snapshot(engine) as db:
        (state,) = series.states(db, Series.run_id == run_id)
        for first, last in ranges:
            (found,) = in_buckets(db, [(state, first, last)], 1000)
            at = found.cells.number[found.cells.most == 50.0] * found.width
            assert len(at) == 1, (first, last)
            assert at <= spike_at < at + found.width, (first, last)


def test_a_curve_costs_as_much_as_its_picture(sqlite_engine: Engine, experiment: Experiment) -> None:
    """A picture of 400,000 points reads a few rows of cells, and not the hundred chunks."""
    steps = np.arange(1, 400_001)
    with transaction(sqlite_engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
        write_points(db, {series_of(db, run_id, "loss"): Points(steps, np.sin(steps))})
    with snapshot(sqlite_engine) as db:
        (state,) = series.states(db, Series.run_id == run_id)
        with recorded(sqlite_engine) as statements:
            (found,) = in_buckets(db, [(state, 0, FAR)], 1000)
    assert (len(found.cells.number), int(found.cells.size.sum())) == (782, 400_000)
    assert not [sql for sql in statements if "chunks" in sql]


@pytest.mark.parametrize("steps", [1, 31, 31_999, 32_000, 32_001, 10**6, 10**8, 2**31])
def test_a_width_is_a_multiple_of_cells_and_makes_about_so_many_buckets(steps: int) -> None:
    width = bucket_width(steps, 1000)
    assert steps / width <= 1000
    assert width == 1 or steps / width > 490
    assert width < 32 or any(width % narrow == 0 and width // narrow <= 8 for narrow in (32 * 8**k for k in range(8)))


def series_of(db: Session, run_id: int, name: str) -> int:
    return ids_of(db, [(run_id, name)], [run_id])[run_id, name]


def store(db: Session, run_id: int, name: str, count: int, spacing: int, start: int) -> int:
    series_id = series_of(db, run_id, name)
    steps = start + spacing * np.arange(count)
    values = np.sin(steps)
    values[::7], values[3::11], values[5::13] = math.nan, math.inf, -math.inf
    for part in np.array_split(np.arange(count), 3):
        if len(part):
            write_points(db, {series_id: Points(steps[part], values[part])})
    return series_id


def stored(db: Session, state: series.SeriesState) -> Points:
    ((_, points),) = curves.whole(db, [state])
    return points


def check(found: Buckets | None, points: Points, first: int, last: int, buckets: int) -> None:
    inside = points.where((points.steps >= first) & (points.steps <= last))
    if found is None:
        assert not len(inside.steps)
        return
    if found.width == 1:
        expected = inside
        assert len(found.cells.number) <= buckets or bucket_width(last - first + 1, buckets) == 1
    else:
        first, last = max(first, int(points.steps[0])), min(last, int(points.steps[-1]))
        start, end = first // found.width, last // found.width
        number = points.steps // found.width
        expected = points.where((number >= start) & (number <= end))
        assert len(expected.steps) > buckets - chunk_rows.CHUNK  # a whole chunk is counted at either end
        assert end - start <= buckets
    for column, right in zip(found.cells, cells_of(expected, found.width), strict=True):
        np.testing.assert_allclose(column, right, rtol=1e-9, atol=1e-15)
