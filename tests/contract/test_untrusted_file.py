"""Files that a job may have replaced: only regular files below the folder are opened, and never more than asked."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.files import untrusted_file
from contract.folder.files.atomic_file import write_atomic, write_exclusive
from contract.folder.files.untrusted_file import UnreadableFileError
from contract.folder.rank_failure import MAX_BYTES, RankFailure
from contract.folder.run_folder import RunFolder
from tests.testing.hostile_files import HUGE, IRREGULAR, bounded_memory, plant

# a FIFO would block its reader for good
pytestmark = [pytest.mark.ring("quick"), pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    with bounded_memory():
        yield


@pytest.mark.parametrize("name", ["file", "below/file"])
@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_not_a_regular_file_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "below").mkdir()
    plant(tmp_path / name, kind)
    for use in (
        lambda: untrusted_file.open_file(tmp_path, name),
        lambda: untrusted_file.stat_file(tmp_path, name),
        lambda: untrusted_file.read_file(tmp_path, name, 10),
        lambda: untrusted_file.open_for_append(tmp_path, name),
    ):
        with pytest.raises(OSError, match=f"{tmp_path.name}/{name}") as refusal:
            use()
        assert isinstance(refusal.value, UnreadableFileError | IsADirectoryError)
    assert untrusted_file.size_of(tmp_path, name) is None
    assert not (tmp_path / "nowhere").exists()


def test_no_link_below_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("secret")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "below").symlink_to(tmp_path / "elsewhere")
    for use in (
        lambda: untrusted_file.open_file(tmp_path / "run", "below/file"),
        lambda: untrusted_file.stat_file(tmp_path / "run", "below/file"),
        lambda: untrusted_file.open_for_append(tmp_path / "run", "below/new"),
        lambda: untrusted_file.touch_file(tmp_path / "run", "below/new"),
        lambda: write_atomic(tmp_path / "run", "below/new", ""),
        lambda: write_exclusive(tmp_path / "run", "below/new", ""),
    ):
        with pytest.raises(UnreadableFileError, match="below"):
            use()
    assert untrusted_file.list_folder(tmp_path / "run", "below") == []
    assert os.listdir(tmp_path / "elsewhere") == ["file"]


def test_a_file_that_is_larger_than_its_limit_is_refused_with_both_numbers(tmp_path: Path) -> None:
    plant(tmp_path / "file", HUGE)
    with pytest.raises(UnreadableFileError, match="the file has 3,221,225,472 bytes, and at most 10 are read"):
        untrusted_file.read_file(tmp_path, "file", 10)
    with untrusted_file.open_file(tmp_path, "file") as file:
        assert (file.read(5, 3), file.read(file.size, 3), file.read(file.size + 9, 3)) == (b"\0\0\0", b"", b"")


def test_a_read_that_returns_a_part_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the file system returns three bytes at a time."""
    (tmp_path / "file").write_bytes(b"0123456789")
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda file, count, offset: pread(file, min(count, 3), offset))
    assert untrusted_file.read_file(tmp_path, "file", 10) == b"0123456789"


@pytest.mark.parametrize("name", ["file", "below/file"])
def test_an_absent_file_is_absent_and_no_descriptor_stays_open(tmp_path: Path, name: str) -> None:
    before = len(os.listdir("/dev/fd"))
    for use in (untrusted_file.open_file, untrusted_file.stat_file):
        with pytest.raises(FileNotFoundError):
            use(tmp_path, name)
    plant(tmp_path / "file", "folder")
    with pytest.raises(OSError, match="file"):
        untrusted_file.open_file(tmp_path, name)
    assert len(os.listdir("/dev/fd")) == before


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    """A task of an array reaches its run through a link, and a site's base folder may be one."""
    folder = RunFolder.of(tmp_path, 1, "cafe")
    (folder.path / "attempts").mkdir(parents=True)
    array = ArrayFolder.of(tmp_path, "bigbatch-cafe-1")
    array.link_runs({0: folder})
    task = RunFolder(array.path / "0")
    assert (task.claim(1, "job1"), task.read_claim(1), folder.read_claim(1)) == ("job1", "job1", "job1")
    task.write_heartbeat(1)
    assert folder.read_heartbeat(1) is not None
    assert sorted(os.listdir(folder.path / "attempts")) == ["1.beat", "1.json"]


@pytest.mark.parametrize("text", ["x", "\0", "\U0001f600"])
def test_a_rank_s_own_record_is_never_too_large_to_be_read(tmp_path: Path, text: str) -> None:
    """Forces an error whose message and traceback have many megabytes."""
    folder = RunFolder(tmp_path)
    (tmp_path / "attempts").mkdir()
    long = text * (4 * MAX_BYTES)
    folder.write_rank_failure(1, RankFailure(at=1.0, rank=0, host="h", reason=f"first {long}", trace=f"{long} last"))
    (failure,) = folder.read_rank_failures(1)
    assert failure.reason.startswith("first ")
    assert failure.trace.endswith(" last")


def test_links_of_an_array_are_not_written_through_a_link(tmp_path: Path) -> None:
    """Forces a hostile job: the folder of a later array is a link to another folder."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "arrays").mkdir()
    (tmp_path / "arrays" / "name").symlink_to(tmp_path / "elsewhere")
    folder = RunFolder.of(tmp_path, 1, "cafe")
    array = ArrayFolder.of(tmp_path, "name")
    writes: list[Callable[[], None]] = [
        lambda: array.link_runs({0: folder}),
        lambda: array.link_packs({0: {0: folder}}),
        array.sync,
    ]
    for write in writes:
        with pytest.raises(UnreadableFileError):
            write()
    assert not list((tmp_path / "elsewhere").iterdir())
