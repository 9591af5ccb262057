"""Since when a rank has made no progress: from its notes, and from the points that it logs."""

import json
from pathlib import Path

import pytest

from agent.stalls.rank_observer import RankObserver
from agent.stalls.suspects import RankView
from agent.stalls.watch import SUSPENDED_S, StallWatch

NOTE = {
    "pid": 2**22 + 1,
    "steps": 5,
    "batches": 5,
    "begun": 9,
    "ended": 9,
    "collective": None,
    "line": "train.py:3 in f",
}


def write_note(
    folder: Path, rank: int = 0, *, beats: int, moves: int = 0, is_over: bool = False, **fields: object
) -> None:
    (folder / "attempts").mkdir(exist_ok=True)
    note = {**NOTE, "beats": beats, "moves": moves, "is_over": is_over, **fields}
    (folder / "attempts" / f"1.progress-{rank}").write_text(json.dumps(note))


def observer(folder: Path, rank: int = 0) -> RankObserver:
    return RankObserver(folder, 1, rank, pid=None, now=0.0)


def looked(watched: RankObserver, now: float) -> RankView:
    view = watched.look(now)
    assert view is not None
    return view


def test_progress_motion_and_notes_are_three_clocks(tmp_path: Path) -> None:
    watched = observer(tmp_path)
    write_note(tmp_path, beats=1)
    looked(watched, 10)
    write_note(tmp_path, beats=2, moves=1)
    looked(watched, 20)
    write_note(tmp_path, beats=3, moves=1)
    looked(watched, 30)
    view = looked(watched, 40)
    assert (view.idle_s, view.still_s, view.silent_s) == (30, 20, 10)
    assert view.is_armed


def test_a_rank_that_has_ended_has_no_view(tmp_path: Path) -> None:
    write_note(tmp_path, beats=9, is_over=True)
    assert observer(tmp_path).look(1.0) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pid": "x"}', "null", '{"pid": 1, "beats": 1e999}'])
def test_a_damaged_note_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "1.progress-0").write_text(text)
    view = looked(observer(tmp_path), 99.0)
    assert not view.is_armed


def test_a_program_that_logs_rarely_has_not_stalled_between_two_points(tmp_path: Path) -> None:
    watched, events = observer(tmp_path), tmp_path / "events.jsonl"
    for now in (100, 1000, 1900):
        events.write_text(f"{'x' * now}\n")
        looked(watched, now)
    assert looked(watched, 1900 + 3000).idle_s == 0
    assert looked(watched, 1900 + 3700).idle_s == 100


def test_a_program_with_a_single_point_cannot_stall(tmp_path: Path) -> None:
    watched = observer(tmp_path)
    (tmp_path / "events.jsonl").write_text("a point\n")
    looked(watched, 10)
    assert not looked(watched, 5000).is_armed


def test_the_time_for_which_the_agent_was_suspended_does_not_count(tmp_path: Path) -> None:
    """Slurm suspends a whole job for an hour; the agent and its ranks stand still together."""
    now = [0.0]
    write_note(tmp_path, beats=1)
    stalls = StallWatch(tmp_path, 1, pids={0: 2**22 + 1}, hosts=["n1"], limit_s=60, clock=lambda: now[0])
    now[0] = 1.0
    assert not stalls.check()
    now[0] = 3600.0
    assert not stalls.check()
    for _ in range(5):
        now[0] += SUSPENDED_S - 5
        assert not stalls.check()
    now[0] += SUSPENDED_S - 5
    assert stalls.check(), "a rank that stands still after that has stalled"
