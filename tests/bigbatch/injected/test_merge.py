"""Ranges of steps per rank, and their merge into the step times of all ranks."""

import random

import pytest
import torch

from bigbatch.injected import parts
from bigbatch.injected.times.merge import Merged, merge_next
from bigbatch.injected.times.step_windows import MAX_ROWS_PER_S, StepWindows, Window
from contract import metric_names
from trainers.progress.step_metrics import split_times


def windows_of(steps: list[list[float]], start: int = 1) -> list[Window]:
    windows = StepWindows()
    found = [window for step, seconds in enumerate(steps, start) if (window := windows.add(step, seconds))]
    return [*found, *([rest] if (rest := windows.close()) else [])]


def merge_all(queues: dict[int, list[Window]]) -> list[Merged]:
    merged = []
    while found := merge_next(queues):
        merged.append(found)
    return merged


def test_the_parts_have_the_engines_names() -> None:
    assert parts.TIME_PARTS == metric_names.TIME_PARTS
    assert parts.SLOWEST_RANK == metric_names.SLOWEST_RANK


def test_a_step_of_50_ms_is_a_range_of_its_own() -> None:
    assert [(window.first, window.last) for window in windows_of([[0.05, 0, 0, 0]] * 3)] == [(1, 1), (2, 2), (3, 3)]


def test_ranges_of_short_steps_begin_at_the_same_steps_on_all_ranks() -> None:
    fast, slow = windows_of([[0.004, 0, 0, 0]] * 200), windows_of([[0.009, 0, 0, 0]] * 200)
    assert {window.last for window in slow} >= {window.last for window in fast[1:]}
    assert len(fast) / (200 * 0.004) <= MAX_ROWS_PER_S + 2


def test_a_range_has_the_means_of_its_steps() -> None:
    *_, window = windows_of([[0.001, 0, 0, 0], [0.001, 0.002, 0, 0], [0.003, 0.004, 0, 0]])
    assert window == Window(2, 3, (0.002, 0.003, 0.0, 0.0))


def test_merged_single_steps_have_the_engines_split() -> None:
    rng = random.Random(3)
    times_RS4 = torch.tensor([[[rng.random() for _ in range(4)] for _ in range(50)] for _ in range(3)]).double()
    merged = merge_all({rank: windows_of(times_S4.tolist()) for rank, times_S4 in enumerate(times_RS4)})
    parts_RS5, slowest_S = split_times(times_RS4)
    assert [step.slowest for step in merged] == slowest_S.tolist()
    for index, step in enumerate(merged):
        assert (step.first, step.last) == (index + 1, index + 1)
        for rank in range(3):
            assert step.ranks[rank] == pytest.approx(parts_RS5[rank, index].tolist(), abs=1e-12)


def test_ranges_of_different_lengths_merge_to_the_longer_one() -> None:
    queues = {
        0: [Window(1, 4, (1.0, 0.0, 1.0, 0.0))],
        1: [Window(1, 2, (2.0, 0.0, 0.0, 0.0)), Window(3, 4, (1.0, 0.0, 1.0, 0.0)), Window(5, 6, (1.0,) * 4)],
    }
    (merged,) = merge_all(queues)
    assert (merged.first, merged.last, merged.slowest) == (1, 4, 1)
    assert merged.ranks == {0: (1.0, 0.0, 0.5, 0.0, 0.5), 1: (1.5, 0.0, 0.5, 0.0, 0.0)}
    assert queues == {0: [], 1: [Window(5, 6, (1.0,) * 4)]}


def test_a_range_waits_for_every_rank() -> None:
    queues = {0: [Window(1, 4, (1.0,) * 4)], 1: [Window(1, 2, (1.0,) * 4)]}
    assert merge_next(queues) is None
    assert len(queues[0]) == len(queues[1]) == 1
