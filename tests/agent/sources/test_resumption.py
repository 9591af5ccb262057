"""Where an attempt resumed its run: metrics that move tell, and one that each attempt writes once says nothing."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.sources import Sources
from contract.folder.events import Event, Resumed
from tests.agent.sources.conftest import Open, append, lines_of
from tests.testing.event_files import append as append_records
from tests.testing.event_files import scalars

Events = Callable[[], list[Event]]
BOARD = {"kind": "tensorboard"}
LINES = {"kind": "json_lines", "file": "metrics.jsonl"}
OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)"}


def resumptions(events: Events) -> list[tuple[int, int, int]]:
    return [(event.attempt, event.step, event.lost_steps) for event in events() if isinstance(event, Resumed)]


def carry_out(sources: Sources, folder: Path, attempt: int, steps: Iterable[int]) -> None:
    """Write what Lightning's TensorBoardLogger writes, in a file of each attempt."""
    path = folder / "lightning_logs" / f"version_{attempt}" / f"events.out.tfevents.170000000{attempt}.host.1.0"
    path.parent.mkdir(parents=True)
    append_records(path, scalars(0, {"hp_metric": -1.0}))
    sources.poll()
    for step in steps:
        append_records(path, scalars(step, {"train/loss": 0.5, "epoch": step // 100}))
    sources.finish()


@pytest.mark.parametrize(
    ("first", "resumed"),
    [
        (420, (2, 419, 30)),  # from a checkpoint
        (450, (2, 449, 0)),  # after a pause
        (0, (2, 0, 450)),  # from the beginning
        (1, (2, 0, 449)),
    ],
)
def test_the_hyperparameters_that_lightning_writes_at_step_0_are_no_resumption(
    open_sources: Open, folder: Path, events: Events, first: int, resumed: tuple[int, int, int]
) -> None:
    carry_out(open_sources(BOARD), folder, 1, range(450))
    carry_out(open_sources(BOARD, attempt=2), folder, 2, range(first, first + 5))
    assert resumptions(events) == [resumed]


def test_an_attempt_that_wrote_its_hyperparameters_alone_does_not_hide_the_ones_before(
    open_sources: Open, folder: Path, events: Events
) -> None:
    carry_out(open_sources(BOARD), folder, 1, range(450))
    carry_out(open_sources(BOARD, attempt=2), folder, 2, ())
    assert resumptions(events) == []
    carry_out(open_sources(BOARD, attempt=3), folder, 3, range(420, 425))
    assert resumptions(events) == [(3, 419, 30)]


def test_attempts_of_which_no_metric_moves_say_nothing(open_sources: Open, folder: Path, events: Events) -> None:
    for attempt in (1, 2, 3):
        sources = open_sources(LINES, attempt=attempt)
        append(folder / "metrics.jsonl", '{"step": 0, "batch": 32}\n')
        sources.finish()
    assert [event.kind for event in events()] == ["points"] * 3


@pytest.mark.parametrize(
    ("second", "resumed"), [((7,), [(2, 5, 0)]), ((5,), []), ((5, 6), [(2, 4, 1)]), ((3,), [(2, 2, 3)])]
)
def test_a_run_of_few_points_tells_by_the_steps_of_both_attempts(
    open_sources: Open, folder: Path, events: Events, second: tuple[int, ...], resumed: list[tuple[int, int, int]]
) -> None:
    """An attempt that was lost after its first point moves together with the next one's points."""
    for attempt, steps in ((1, (5,)), (2, second)):
        sources = open_sources(OUTPUT, attempt=attempt)
        for step in steps:
            append(lines_of(folder, attempt), f"step {step} loss 0.5\n")
            sources.poll()
        sources.finish()
    assert resumptions(events) == resumed


def test_the_first_of_several_metrics_in_time_tells(open_sources: Open, folder: Path, events: Events) -> None:
    """TensorBoard's files of one folder are read one after the other, whatever was written first."""
    board = {"eval": folder / "a_eval" / "x.tfevents.1", "train": folder / "b_train" / "x.tfevents.2"}
    for path in board.values():
        path.parent.mkdir()
    sources = open_sources(BOARD)
    for step in range(1, 451):
        append_records(board["train"], scalars(step, {"loss": 0.5}, at=1_000.0 + step))
        if not step % 100:
            append_records(board["eval"], scalars(step, {"loss": 0.5}, at=1_000.5 + step))
    sources.finish()
    sources = open_sources(BOARD, attempt=2)
    append_records(board["eval"], scalars(500, {"loss": 0.5}, at=2_080.0))
    for step in range(421, 501):
        append_records(board["train"], scalars(step, {"loss": 0.5}, at=1_579.0 + step))
    sources.finish()
    assert resumptions(events) == [(2, 420, 30)]


def test_points_that_could_not_be_written_report_the_resumption_with_the_next_try(folder: Path, events: Events) -> None:
    """Forces the fault: the disk is full when the first telling point of an attempt is written."""
    is_full = False

    def emit(batch: Sequence[Mapping[str, Any]]) -> bool:
        if not is_full:
            append(folder / "events.jsonl", "".join(f"{json.dumps(event)}\n" for event in batch))
        return not is_full

    append(lines_of(folder), "".join(f"step {step} loss 0.5\n" for step in range(1, 11)))
    Sources(str(folder), [OUTPUT], emit, attempt=1).poll()
    sources = Sources(str(folder), [OUTPUT], emit, attempt=2)
    append(lines_of(folder, 2), "step 5 loss 0.5\n")
    is_full = True
    sources.poll()
    is_full = False
    sources.poll()
    sources.poll()
    assert resumptions(events) == [(2, 4, 6)]
