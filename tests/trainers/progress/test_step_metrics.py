"""The time split of a step, computed from durations that the ranks exchange."""

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
    SAMPLES_PER_S,
    SLOWEST_RANK,
    TIME_PARTS,
    UPDATE_S,
)
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.progress.rank_stats import RankStats
from trainers.progress.step_metrics import StepMeasurement, StepMetrics, mean_times, split_times
from trainers.progress.timer import StepTiming

CPU = torch.device("cpu")


def test_an_early_rank_is_idle_until_the_last_rank_arrives() -> None:
    # compute, update, in collectives, input: rank 1 is 3 s behind rank 0; the collective itself takes 1 s
    times_RS4 = torch.tensor([[[4.0, 1.0, 4.0, 1.0]], [[4.0, 2.0, 1.0, 3.0]]], dtype=torch.float64)
    (results,) = mean_times(*split_times(times_RS4), ranks=[0, 1])
    parts = {COMPUTE_S: 4.0, UPDATE_S: 1.5, COMMUNICATION_S: 1.0, INPUT_S: 2.0, IDLE_S: 1.5}
    assert results == parts | {SLOWEST_RANK: 1}


def test_idle_time_is_never_more_than_the_time_in_collectives() -> None:
    """A rank is late before an evaluation, for which the other ranks wait outside of the step."""
    times_RS4 = torch.tensor([[[1.0, 0.0, 0.5, 0.0]], [[9.0, 0.0, 0.5, 0.0]]], dtype=torch.float64)
    (results,) = mean_times(*split_times(times_RS4), ranks=[0, 1])
    assert (results[IDLE_S], results[COMMUNICATION_S]) == (0.25, 0.25)


def test_without_a_collective_the_last_published_times_count() -> None:
    """Rank 1 has published nothing yet; rank 2 is slow, and its wait for the center is no idle time."""
    store, received = HashStore(), [RecordingReporter(), RecordingReporter()]
    for reported, rank in zip(received, (2, 0), strict=True):
        report: Any = reported
        measures = StepMetrics(report, world=1, device=CPU, watch=BackendCollectives())
        measures.rank_stats = RankStats(store, rank=rank, world=3)
        measures.add(StepMeasurement(1, 60, {"loss": 1.0}, lap(0.1 * (rank + 1), 0.5)))
    [(_, results)] = received[1].points_reported
    assert (results[COMPUTE_S], results[COMMUNICATION_S], results[IDLE_S]) == (
        pytest.approx(0.2),
        pytest.approx(0.5),
        0.0,
    )
    assert (results[SAMPLES_PER_S], results[SLOWEST_RANK]) == (pytest.approx(60 / 0.7), 2)


class RecordingReporter:
    """Records the calls of a Reporter."""

    def __init__(self) -> None:
        self.points_reported: list[tuple[int, dict[str, float]]] = []
        self.stretches: list[tuple[int, int, dict[int, list[float]]]] = []

    def points(self, step: int, values: dict[str, float]) -> None:
        self.points_reported.append((step, values))

    def times(self, first_step: int, last_step: int, parts: dict[int, list[float]]) -> None:
        self.stretches.append((first_step, last_step, parts))


def lap(compute_s: float, collective_s: float) -> StepTiming:
    return StepTiming([(COMPUTE_S, 0.0), (COMMUNICATION_S, compute_s), ("", compute_s + collective_s)])


def measure() -> tuple[list[int], list[tuple[int, dict[str, float]]]]:
    """Take steps of 0.2 s, rank 1 slower; return the number of reported steps after each, and all reports."""
    received: Any = RecordingReporter()
    measures = StepMetrics(received, world=2, device=CPU, watch=BackendCollectives())
    compute_s = 0.1 + 0.05 * dist.get_rank()
    known = []
    for step in range(1, 9):
        measures.add(StepMeasurement(step, 64, {"loss": float(step)}, lap(compute_s, 0.2 - compute_s)))
        known.append(len(received.points_reported))
    measures.flush()
    assert [(first, last) for first, last, _ in received.stretches] == [(1, 1), (2, 6), (7, 8)]
    for *_, parts in received.stretches:
        assert [sum(parts[rank]) for rank in (0, 1)] == pytest.approx([0.2, 0.2])
    return known, received.points_reported


def test_ranks_exchange_their_times_about_once_per_second() -> None:
    for known, reported in on_ranks(2, measure):
        assert known == [1, 1, 1, 1, 1, 6, 6, 6]  # after the first step, five steps are expected per second
        assert [(step, values["loss"]) for step, values in reported] == [(step, step) for step in range(1, 9)]
        for _, values in reported:
            assert sum(values[part] for part in TIME_PARTS) == pytest.approx(0.2)
            assert values[SAMPLES_PER_S] == pytest.approx(320)
            assert (values[IDLE_S], values[SLOWEST_RANK]) == (pytest.approx(0.025), 1)


def test_on_a_gpu_the_newest_step_is_reported_with_the_next_one() -> None:
    """To read the times of a step that the GPU still computes would wait for its end."""
    received: Any = RecordingReporter()
    measures = StepMetrics(received, world=1, device=torch.device("cuda"), watch=BackendCollectives())
    known = []
    for step in range(1, 9):
        measures.add(StepMeasurement(step, 64, {"loss": float(step)}, lap(0.1, 0.1)))
        known.append(len(received.points_reported))
    assert known == [0, 1, 1, 1, 1, 1, 6, 6]
    measures.flush()
    assert [(first, last) for first, last, _ in received.stretches] == [(1, 1), (2, 6), (7, 8)]


def test_pending_steps_are_reported_without_times_at_the_end() -> None:
    received: Any = RecordingReporter()
    measures = StepMetrics(received, world=2, device=CPU, watch=BackendCollectives())
    measures._due = 5
    measures.add(StepMeasurement(1, 64, {"loss": 3.0}, lap(0.1, 0.1)))
    measures.close()
    measures.close()
    assert received.points_reported == [(1, {"loss": 3.0})]
