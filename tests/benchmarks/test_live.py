"""The arithmetic of the benchmark of live pages."""

from benchmarks.live.benchmark import HEAD_S, step_times
from benchmarks.live.stages import lag_of


def test_each_point_has_the_lag_until_its_runs_newest_step_was_known() -> None:
    written = [10.0, 10.1, 10.2]
    seen = [(1, 2, 10.5), (1, 3, 10.6), (2, 3, 11.2)]
    lag = lag_of(seen, written)
    assert lag.points == 6
    assert (lag.median_ms, lag.p99_ms) == (1000.0, 1200.0)  # 400, 400, 500, 1000, 1100, 1200


def test_steps_are_due_at_the_pace_of_the_trainers() -> None:
    assert step_times(0.0, 10, 0.3) == [HEAD_S, HEAD_S + 0.1, HEAD_S + 0.2]
