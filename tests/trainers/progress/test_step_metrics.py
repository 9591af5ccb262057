"""Where the time of a step went, from durations that the ranks tell each other."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import HashStore  # type: ignore[attr-defined]

from contract.metric_names import (
    COMMUNICATION_S,
    COMPUTE_S,
    IDLE_S,
    INPUT_S,
    PARTS,
    SAMPLES_PER_S,
    SLOWEST_RANK,
    UPDATE_S,
)
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners.timeout import Watch
from trainers.progress.rank_stats import Hearsay
from trainers.progress.step_metrics import Measured, Measures, means_of, parts_of
from trainers.progress.timer import Lap

CPU = torch.device("cpu")


def test_who_comes_early_is_idle_until_the_last_is_there() -> None:
    # compute, update, in collectives, input: rank 1 is 3 s behind rank 0; the collective itself takes 1 s
    times_RS4 = torch.tensor([[[4.0, 1.0, 4.0, 1.0]], [[4.0, 2.0, 1.0, 3.0]]], dtype=torch.float64)
    (told,) = means_of(*parts_of(times_RS4), ranks=[0, 1])
    parts = {COMPUTE_S: 4.0, UPDATE_S: 1.5, COMMUNICATION_S: 1.0, INPUT_S: 2.0, IDLE_S: 1.5}
    assert told == parts | {SLOWEST_RANK: 1}


def test_idle_time_is_never_more_than_the_time_in_collectives() -> None:
    """A rank that was late before an evaluation, where the others waited outside of the step."""
    times_RS4 = torch.tensor([[[1.0, 0.0, 0.5, 0.0]], [[9.0, 0.0, 0.5, 0.0]]], dtype=torch.float64)
    (told,) = means_of(*parts_of(times_RS4), ranks=[0, 1])
    assert (told[IDLE_S], told[COMMUNICATION_S]) == (0.25, 0.25)


def test_ranks_that_meet_in_no_collective_count_what_others_last_said() -> None:
    """Rank 1 has not said anything yet; rank 2 is slow, and what it waits at the center is no idle time."""
    store, heard = HashStore(), [Heard(), Heard()]
    for said, rank in zip(heard, (2, 0), strict=True):
        report: Any = said
        measures = Measures(report, world=1, device=CPU, watch=Watch())
        measures.hearsay = Hearsay(store, rank=rank, world=3)
        measures.add(Measured(1, 60, {"loss": 1.0}, lap(0.1 * (rank + 1), 0.5)))
    [(_, told)] = heard[1].points_said
    assert (told[COMPUTE_S], told[COMMUNICATION_S], told[IDLE_S]) == (pytest.approx(0.2), pytest.approx(0.5), 0.0)
    assert (told[SAMPLES_PER_S], told[SLOWEST_RANK]) == (pytest.approx(60 / 0.7), 2)


class Heard:
    """Stands where the report does, so that a rank's words can be looked at."""

    def __init__(self) -> None:
        self.points_said: list[tuple[int, dict[str, float]]] = []
        self.stretches: list[tuple[int, int, dict[int, list[float]]]] = []

    def points(self, step: int, values: dict[str, float]) -> None:
        self.points_said.append((step, values))

    def times(self, first_step: int, last_step: int, parts: dict[int, list[float]]) -> None:
        self.stretches.append((first_step, last_step, parts))


def lap(compute_s: float, collective_s: float) -> Lap:
    return Lap([(COMPUTE_S, 0.0), (COMMUNICATION_S, compute_s), ("", compute_s + collective_s)])


def measure() -> tuple[list[int], list[tuple[int, dict[str, float]]]]:
    """Steps of 0.2 s, rank 1 the slower; return how many steps were known after each, and all that was said."""
    heard: Any = Heard()
    measures = Measures(heard, world=2, device=CPU, watch=Watch())
    compute_s = 0.1 + 0.05 * dist.get_rank()
    known = []
    for step in range(1, 9):
        measures.add(Measured(step, 64, {"loss": float(step)}, lap(compute_s, 0.2 - compute_s)))
        known.append(len(heard.points_said))
    measures.tell()
    assert [(first, last) for first, last, _ in heard.stretches] == [(1, 1), (2, 6), (7, 8)]
    for *_, parts in heard.stretches:
        assert [sum(parts[rank]) for rank in (0, 1)] == pytest.approx([0.2, 0.2])
    return known, heard.points_said


def test_ranks_tell_their_times_about_once_a_second() -> None:
    for known, said in on_ranks(2, measure):
        assert known == [1, 1, 1, 1, 1, 6, 6, 6]  # the first step says that five make a second
        assert [(step, values["loss"]) for step, values in said] == [(step, step) for step in range(1, 9)]
        for _, values in said:
            assert sum(values[part] for part in PARTS) == pytest.approx(0.2)
            assert values[SAMPLES_PER_S] == pytest.approx(320)
            assert (values[IDLE_S], values[SLOWEST_RANK]) == (pytest.approx(0.025), 1)


def test_what_is_kept_is_said_without_times_when_other_ranks_are_gone() -> None:
    heard: Any = Heard()
    measures = Measures(heard, world=2, device=CPU, watch=Watch())
    measures._due = 5
    measures.add(Measured(1, 64, {"loss": 3.0}, lap(0.1, 0.1)))
    measures.close()
    measures.close()
    assert heard.points_said == [(1, {"loss": 3.0})]
