"""Tests of the run folder: claims are exclusive, records are complete."""

import errno
import os
import threading
from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.run_folder import UNREADABLE, RunFolder
from contract.lifecycle.state import ENDED, LIVE, MOVES, State, joint_state
from contract.spec.run import RunSpec

pytestmark = pytest.mark.ring("quick")


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
    assert folder.read_claim(1) == winners[0]
    assert not list((folder.path / "attempts").glob(".*"))


def test_a_claim_that_is_there_and_not_shown_yet_is_not_ours(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a shared file system that refuses a second claim and shows the first one late, or not at all."""
    folder.claim(1, "first")
    shown, late = folder.read_claim(1), iter([None, None, "first"])
    monkeypatch.setattr(RunFolder, "read_claim", lambda *_: next(late))
    assert (folder.claim(1, "second"), shown) == ("first", "first")
    monkeypatch.setattr(RunFolder, "read_claim", lambda *_: None)
    monkeypatch.setattr("contract.folder.run_folder.CLAIM_VISIBLE_S", 0.2)
    assert folder.claim(1, "second") == UNREADABLE


@pytest.mark.parametrize("torn", ["", "{", "[]", "{}"])
def test_a_claim_that_lost_its_bytes_is_somebody_s(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, torn: str
) -> None:
    """Forces what a file system may show that lost power, or at first of a new file: a name without its bytes."""
    monkeypatch.setattr("contract.folder.run_folder.CLAIM_VISIBLE_S", 0.2)
    folder.claim(1, "first")
    (folder.path / "attempts" / "1.json").write_text(torn)
    (folder.path / "attempts" / "1.end").touch()
    assert (folder.read_claim(1), folder.claim(1, "second"), folder.read_part_exit(1)) == (UNREADABLE, UNREADABLE, None)


def test_the_latest_attempt_is_the_highest_that_is_claimed(folder: RunFolder) -> None:
    assert folder.latest_attempt() == 0
    folder.claim(2, "a")
    folder.claim(10, "b")
    folder.write_rank_failure(11, RankFailure(at=1.0, rank=0, host="h", reason="a fall is no claim"))
    assert folder.latest_attempt() == 10


def test_the_first_rank_to_fall_comes_first_though_its_clock_is_minutes_ahead(folder: RunFolder) -> None:
    """Rank 2's clock goes ten minutes ahead, rank 1's ten behind: what they note is no order."""
    folder.write_roster(1, RankRoster(hosts=["a", "b", "c"], ahead_s=[0.0, -600.0, 600.0]))
    folder.write_rank_failure(1, RankFailure(at=1003.0, rank=0, host="a", reason="an echo", echo=True))
    folder.write_rank_failure(1, RankFailure(at=402.0, rank=1, host="b", reason="second"))
    folder.write_rank_failure(1, RankFailure(at=1601.0, rank=2, host="c", reason="first"))
    assert [(fall.reason, fall.at) for fall in folder.read_rank_failures(1)] == [
        ("first", 1001.0),
        ("second", 1002.0),
        ("an echo", 1003.0),
    ]


def test_the_clock_of_a_fall_that_another_rank_noted_is_that_ones(folder: RunFolder) -> None:
    folder.write_roster(1, RankRoster(hosts=["a", "b"], ahead_s=[0.0, 600.0]))
    folder.write_rank_failure(1, RankFailure(at=1000.0, rank=1, host="b", reason="it said nothing", by=0))
    assert folder.read_rank_failures(1)[0].at == 1000.0


def test_before_the_ranks_have_met_the_folder_s_clock_tells_who_was_first(folder: RunFolder) -> None:
    """Rank 0's clock goes behind, so it claims to have fallen first."""
    folder.write_rank_failure(1, RankFailure(at=2000.0, rank=1, host="b", reason="first"))
    os.utime(folder.path / "attempts" / "1.rank-1.json", (50.0, 50.0))
    folder.write_rank_failure(1, RankFailure(at=1000.0, rank=0, host="a", reason="second"))
    assert [fall.reason for fall in folder.read_rank_failures(1)] == ["first", "second"]


def test_each_attempt_has_its_own_part_of_the_log(folder: RunFolder) -> None:
    spec = folder.read_spec()
    folder.prepare(spec, 1)
    folder.log.write_text("of the first\n")
    folder.prepare(spec, 2)
    with folder.log.open("a") as log:
        log.write("of the second\n")
    folder.prepare(spec, 2)  # as a launcher does that takes it over
    assert [folder.read_attempt_log(attempt, 1000) for attempt in (1, 2)] == ["of the first\n", "of the second\n"]
    assert folder.read_attempt_log(2, 7) == "second\n"


def test_a_spec_is_written_the_same_from_what_the_database_holds(folder: RunFolder) -> None:
    spec, path = folder.read_spec(), folder.path / "spec.json"
    written = path.read_bytes()
    folder.prepare(spec.model_dump(mode="json"), 1)
    assert path.read_bytes() == written == spec.model_dump_json(indent=2).encode()


def test_a_spec_that_a_killed_launcher_left_torn_is_written_anew(folder: RunFolder) -> None:
    spec, path = folder.read_spec(), folder.path / "spec.json"
    path.write_bytes(path.read_bytes()[:100])
    folder.prepare(spec, 1)
    assert folder.read_spec() == spec


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


def test_links_that_are_there_already_are_as_good_as_new_ones(folder: RunFolder, tmp_path: Path) -> None:
    """Forces a file server that is asked twice, because its first answer was lost; a link elsewhere is in the way."""
    array = ArrayFolder.of(tmp_path, "bigbatch-cafe-1")
    for _ in range(2):
        array.link_runs({0: folder})
    with pytest.raises(FileExistsError):
        array.link_runs({0: RunFolder.of(tmp_path, 2, "beef")})


def test_a_disk_that_is_full_leaves_no_drafts(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: a file can be made, and its bytes cannot be written down."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("runfiles.whole_file.os.fsync", full)
    fall = RankFailure(at=1.0, rank=0, host="h", reason="r")
    for write in (lambda: folder.claim(1, "a"), lambda: folder.write_rank_failure(1, fall)):
        with pytest.raises(OSError, match="No space"):
            write()
    assert not list((folder.path / "attempts").iterdir())
