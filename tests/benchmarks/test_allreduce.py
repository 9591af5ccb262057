"""The all-reduce benchmark sums by every algorithm, and says for each what its measured links let one expect."""

from benchmarks.allreduce.algorithms import NAMES
from benchmarks.allreduce.rank import how_often
from benchmarks.launcher import on_ranks


def test_every_algorithm_has_a_row_with_its_price() -> None:
    task = {"sizes": [4096], "ranks_per_host": 2, "repeats": 1, "algorithms": NAMES}
    told = on_ranks("benchmarks.allreduce.rank", [""], 2, task)
    assert [row["algorithm"] for row in told["rows"]] == list(NAMES)
    assert all(row["seconds"] > 0 and row["predicted_s"] > 0 for row in told["rows"])
    assert told["network"]["add_rate"] > 0


def test_what_takes_long_is_summed_fewer_times() -> None:
    assert [how_often(1 << 24, 5, first_s) for first_s in (0.5, 4.0, 100.0)] == [5, 3, 0]
    assert how_often(1 << 12, 5, 0.001) == 20
