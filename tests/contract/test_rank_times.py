"""Tests of the step times of every rank, read from the end of a long or incomplete file."""

from pathlib import Path

import pytest

from contract.folder import rank_times
from contract.folder.rank_times import COLUMNS, read_rank_times
from contract.metric_names import TIME_PARTS

pytestmark = pytest.mark.ring("quick")

HEAD = ",".join(COLUMNS) + "\n"


def row(attempt: int, first: int, last: int, rank: int, compute_s: float) -> str:
    return f"{attempt},{first},{last},{rank},{compute_s},{','.join(['0.25'] * (len(TIME_PARTS) - 1))}\n"


def test_stretches_weigh_by_their_steps(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text(HEAD + row(1, 1, 1, 0, 4.0) + row(1, 1, 1, 1, 8.0) + row(1, 2, 4, 0, 2.0) + row(1, 2, 4, 1, 2.0))
    found = read_rank_times(path.parent, path.name)
    assert found is not None
    assert (found.attempt, found.first_step, found.last_step) == (1, 1, 4)
    assert [(rank.rank, rank.seconds["compute_s"], rank.seconds["idle_s"]) for rank in found.ranks] == [
        (0, 2.5, 0.25),
        (1, 3.5, 0.25),
    ]


def test_the_latest_attempt_alone_counts_and_a_torn_row_does_not(tmp_path: Path) -> None:
    """Forces a crash in the middle of a row, after which the next attempt goes on."""
    path = tmp_path / "times.csv"
    ends_in_a_comma = row(1, 10, 11, 0, 9.0).rpartition(",")[0] + ",\n"
    path.write_text(
        HEAD
        + row(1, 1, 9, 0, 4.0)
        + "1,10,1\n"
        + row(2, 5, 6, 0, 1.0)
        + ends_in_a_comma.replace("1,10,11", "2,7,8", 1)
        + "2,9,9,0,3"
    )
    found = read_rank_times(path.parent, path.name)
    assert found is not None
    assert (found.attempt, found.first_step, found.last_step, found.ranks[0].seconds["compute_s"]) == (2, 5, 6, 1.0)


def test_of_a_long_file_the_end_is_read_from_the_first_stretch_that_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "times.csv"
    path.write_text(HEAD + "".join(row(1, step, step, rank, step + rank) for step in range(1, 50) for rank in range(3)))
    monkeypatch.setattr(rank_times, "TAIL_BYTES", 7 * len(row(1, 49, 49, 2, 51)) + 3)
    found = read_rank_times(path.parent, path.name)
    assert found is not None
    assert (found.first_step, found.last_step) == (48, 49)
    assert [rank.seconds["compute_s"] for rank in found.ranks] == [48.5, 49.5, 50.5]


@pytest.mark.parametrize("text", [None, "", HEAD, HEAD + "1,2"])
def test_nothing_is_known_before_the_first_row(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "times.csv"
    if text is not None:
        path.write_text(text)
    assert read_rank_times(path.parent, path.name) is None
