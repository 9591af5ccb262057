"""The table of published rows in the documentation is what the code computes."""

from math import isclose

import pytest

from benchmarks.planner.__main__ import PAGE, with_table
from benchmarks.planner.published import IMAGENET, UNKNOWN, image_s_of, rows, synchronous


@pytest.mark.ring("all")
def test_the_page_has_the_rows_as_the_planner_predicts_them_now() -> None:
    page = PAGE.read_text()
    assert with_table(page) == page


def test_every_published_row_has_a_finite_error_or_a_reason() -> None:
    found = list(rows())
    assert len({row.source for row in found}) == 4
    assert all(row.published > 0 and row.predicted > 0 for row in found)
    assert all(reason for _, reason in UNKNOWN)


# what the tables of You et al. (2018) and of Mikami et al. (2018) have: a word of the row, and its published figure
TABLES = [
    *(("512 KNL", minutes) for minutes in ("24 min", "60 min")),
    *(("CPUs", minutes) for minutes in ("11 min", "48 min", "52 min", "31 min")),
    *(("2,048 KNL", minutes) for minutes in ("20 min", "14 min")),
    ("DGX-1", "6.167 h"), ("DGX-1", "2.317 h"), ("DGX-1", "21 h"),
    ("He", "1,740 min"), ("Goyal", "60 min"), ("Goyal", "90 %"), ("Cho", "50 min"), ("Cho", "95 %"),
    ("Smith", "30 min"), ("Akiba", "15 min"), ("Akiba", "80 %"), ("Jia", "6.6 min"), ("Jia", "87.9 %"),
    ("Ying", "2.2 and 1.8 min"), ("Sony", "224 s"), ("Sony", "122 s"), ("Sony", "91.62 %"), ("Sony", "84.75 %"),
]  # fmt: skip


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("word", "figure"), TABLES)
def test_a_row_of_the_papers_tables_is_predicted_or_has_a_reason(word: str, figure: str) -> None:
    said = [f"{row.what}: {row.published:,.4g} {row.unit}" for row in rows()] + [what for what, _ in UNKNOWN]
    assert any(word in line and figure in line for line in said)


@pytest.mark.ring("all")
def test_a_row_that_is_a_division_says_so_and_is_exactly_that_division() -> None:
    (row,) = (row for row in rows() if "division" in row.calibration)
    assert isclose(row.predicted, 90 * IMAGENET / 1580 / 3600, rel_tol=1e-9)


def test_the_speed_of_a_device_from_a_published_step_gives_that_step() -> None:
    for exchange in (0.001, 0.3):  # hidden by backward, and longer than it
        image_s = image_s_of(0.5, 32, exchange, 1e8, ranks=8)
        assert isclose(synchronous(32 * image_s, exchange, 1e8, ranks=8), 0.5, rel_tol=1e-9)
