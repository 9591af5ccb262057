"""The run folder: claims are won once, notes are whole."""

import threading
from pathlib import Path

import pytest

from contract.folder import Fall, RunFolder
from contract.run import ENDED, LIVE, MOVES, State, joint_state
from contract.spec import RunSpec


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    spec = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.1}, "batch": 8, "epochs": 1}
    made = RunFolder.of(tmp_path, 7, "0badcafe")
    made.prepare(RunSpec.model_validate(spec))
    return made


def test_one_of_many_jobs_gets_the_claim_and_all_learn_which(folder: RunFolder) -> None:
    """Forces the race: 16 threads claim the same attempt at the same moment."""
    start, winners = threading.Barrier(16), []

    def claim(job: str) -> None:
        start.wait()
        winners.append(folder.claim(1, job))

    threads = [threading.Thread(target=claim, args=[f"job{n}"]) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(winners)) == 1
    assert len(winners) == 16
    assert folder.claimed_by(1) == winners[0]
    assert not list((folder.path / "attempts").glob(".*"))


def test_the_latest_attempt_is_the_highest_that_is_claimed(folder: RunFolder) -> None:
    assert folder.latest_attempt() == 0
    folder.claim(2, "a")
    folder.claim(10, "b")
    folder.note_fall(11, Fall(1.0, 0, "h", "a fall is no claim", ""))
    assert folder.latest_attempt() == 10


def test_the_first_rank_to_fall_comes_first(folder: RunFolder) -> None:
    folder.note_fall(1, Fall(20.0, 0, "h", "an echo", ""))
    folder.note_fall(1, Fall(10.0, 2, "h", "the cause", "trace"))
    assert [fall.reason for fall in folder.falls(1)] == ["the cause", "an echo"]


def test_a_folder_that_cannot_be_made_raises_an_os_error(tmp_path: Path, folder: RunFolder) -> None:
    (tmp_path / "000008-x").write_text("a file in the way")
    with pytest.raises(OSError, match="000008-x"):
        RunFolder.of(tmp_path, 8, "x").prepare(folder.read_spec())


def test_every_state_is_reached_and_every_life_ends() -> None:
    reached = {State.QUEUED}.union(*MOVES.values())
    assert reached == set(State)
    assert {State.DONE, State.FAILED, State.CANCELLED} == ENDED
    assert not LIVE & ENDED


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({State.DONE: 3}, State.DONE),
        ({State.DONE: 3, State.FAILED: 1}, State.FAILED),
        ({State.DONE: 3, State.FAILED: 1, State.QUEUED: 1}, State.QUEUED),
        ({State.RUNNING: 1, State.QUEUED: 9}, State.RUNNING),
        ({State.CANCELLED: 1, State.DONE: 1}, State.CANCELLED),
    ],
)
def test_runs_together_are_what_is_still_under_way_and_then_the_worst(counts: dict[State, int], state: State) -> None:
    assert joint_state(counts) == state
