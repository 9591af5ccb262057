"""What is made once: many processes at a time, torn files, folders that cannot be written to."""

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from trainers.data.array_cache import Bytes, kept

CONTENT = np.arange(100_000, dtype=np.uint8)
CONTEXT = multiprocessing.get_context("fork")


def make_and_tell(told: Path) -> Bytes:
    """Leave a trace of every time that the content is made."""
    (told / str(os.getpid())).touch()
    return CONTENT


def ask(folder: Path, told: Path, start: "multiprocessing.synchronize.Barrier") -> None:
    start.wait()
    assert np.array_equal(kept(folder / "file", lambda: make_and_tell(told)), CONTENT)


def test_eight_processes_that_ask_at_once_make_it_once(tmp_path: Path) -> None:
    """Forces the race: all start from one barrier on an empty folder."""
    told, start = tmp_path / "told", CONTEXT.Barrier(8)
    told.mkdir()
    processes = [CONTEXT.Process(target=ask, args=(tmp_path / "cache", told, start)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert len(list(told.iterdir())) == 1
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["file", "file.lock"]


@pytest.mark.parametrize("damage", ["torn", "changed", "empty"])
def test_a_damaged_file_is_made_again(tmp_path: Path, damage: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Forces a file cut in half, one with a byte changed, and one of no bytes."""
    path = tmp_path / "file"
    kept(path, lambda: CONTENT)
    whole = path.read_bytes()
    changed = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes({"torn": whole[: len(whole) // 2], "changed": changed, "empty": b""}[damage])
    assert np.array_equal(kept(path, lambda: CONTENT), CONTENT)
    assert path.read_bytes() == whole
    assert "is damaged and made again" in capfd.readouterr().err


def test_where_nothing_can_be_kept_it_is_made_each_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Forces it with a file where the folder should be, which stops root too."""
    (tmp_path / "cache").touch()
    assert np.array_equal(kept(tmp_path / "cache" / "file", lambda: CONTENT), CONTENT)
    assert "it is made again each time" in capfd.readouterr().err


def test_a_maker_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> Bytes:
        raise ValueError("no font")

    with pytest.raises(ValueError, match="no font"):
        kept(tmp_path / "file", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["file.lock"]
    assert np.array_equal(kept(tmp_path / "file", lambda: CONTENT), CONTENT)
