"""When a checkpoint is due, and reading the events of earlier attempts."""

import os
from pathlib import Path

import pytest

from contract.folder.events import Finished, Points
from contract.spec.batch_schedule import BatchSchedule, ScheduledBatch
from contract.spec.checkpoint import Checkpoint
from runfiles.event_lines import end_torn_line
from runfiles.history import last_step as read_last_step
from trainers.recovery.checkpoint_coordinator import is_due

SCHEDULE = BatchSchedule(samples=50, epochs=4, stages=(ScheduledBatch(0, 10),))  # five steps an epoch


@pytest.mark.parametrize(
    ("when", "saved_step", "since_s", "due"),
    [
        ({}, 0, 599.0, []),
        ({}, 0, 600.0, list(range(1, 21))),
        ({"every_minutes": None, "every_steps": 8}, 0, 1e9, list(range(8, 21))),
        ({"every_minutes": None, "every_steps": 8}, 5, 1e9, list(range(13, 21))),
        ({"every_minutes": None, "every_epochs": 2}, 0, 1e9, list(range(10, 21))),
        ({"every_minutes": None, "every_epochs": 2}, 11, 1e9, [20]),
        ({"every_minutes": None, "at_end": True}, 0, 1e9, [20]),
        ({"every_minutes": None}, 0, 1e9, []),
    ],
)
def test_the_first_interval_makes_a_checkpoint_due(
    when: dict[str, object], saved_step: int, since_s: float, due: list[int]
) -> None:
    """A save that was not possible because the previous one was being written remains due at the next step."""
    asked = Checkpoint.model_validate(when)
    found = [
        step
        for step in range(saved_step + 1, SCHEDULE.steps + 1)
        if is_due(asked, SCHEDULE, step=step, saved_step=saved_step, since_s=since_s)
    ]
    assert found == due


def line(step: int) -> bytes:
    return Points(attempt=1, at=0.0, step=step, values={"loss": 1.0}).model_dump_json().encode() + b"\n"


@pytest.mark.parametrize("count", [0, 1, 3, 5000])
@pytest.mark.parametrize("end", [b"", b'{"kind": "points", "at', b"\n\n"])
def test_the_last_reported_step_is_found_from_the_end(count: int, end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    last = Finished(attempt=1, at=0.0, step=9).model_dump_json().encode() + b"\n"
    path.write_bytes(b"".join(line(step) for step in range(1, count + 1)) + last + end)
    assert read_last_step(path) == count


def test_a_torn_line_does_not_damage_later_lines(tmp_path: Path) -> None:
    """Forces an incomplete line at the end of the file, as after a crash."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(line(1) + line(2)[:20])
    number = os.open(path, os.O_RDWR | os.O_APPEND)
    for _ in range(2):
        end_torn_line(number)
    os.write(number, line(3))
    os.close(number)
    assert path.read_bytes() == line(1) + line(2)[:20] + b"\n" + line(3)
    assert read_last_step(path) == 3
