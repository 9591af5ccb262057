"""The array cache with concurrent processes, damaged files and read-only folders."""

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from trainers.data.array_cache import Bytes, load_or_create

CONTENT = np.arange(100_000, dtype=np.uint8)
CONTEXT = multiprocessing.get_context("fork")


def make_and_trace(traces: Path) -> Bytes:
    """Record each creation of the content by a file."""
    (traces / str(os.getpid())).touch()
    return CONTENT


def read_from_cache(folder: Path, traces: Path, start: "multiprocessing.synchronize.Barrier") -> None:
    start.wait()
    assert np.array_equal(load_or_create(folder / "file", lambda: make_and_trace(traces)), CONTENT)


def test_eight_concurrent_processes_create_the_array_once(tmp_path: Path) -> None:
    """All processes start at one barrier with an empty folder."""
    traces, start = tmp_path / "traces", CONTEXT.Barrier(8)
    traces.mkdir()
    processes = [CONTEXT.Process(target=read_from_cache, args=(tmp_path / "cache", traces, start)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert len(list(traces.iterdir())) == 1
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["file", "file.lock"]


@pytest.mark.parametrize("damage", ["torn", "changed", "empty"])
def test_a_damaged_file_is_created_again(tmp_path: Path, damage: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A file is truncated, has a changed byte, or is empty."""
    path = tmp_path / "file"
    load_or_create(path, lambda: CONTENT)
    whole = path.read_bytes()
    changed = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes({"torn": whole[: len(whole) // 2], "changed": changed, "empty": b""}[damage])
    assert np.array_equal(load_or_create(path, lambda: CONTENT), CONTENT)
    assert path.read_bytes() == whole
    assert "is damaged and is created again" in capfd.readouterr().err


def test_without_a_folder_the_array_is_created_each_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file at the path of the folder also prevents root from writing."""
    (tmp_path / "cache").touch()
    assert np.array_equal(load_or_create(tmp_path / "cache" / "file", lambda: CONTENT), CONTENT)
    assert "it is created again each time" in capfd.readouterr().err


def test_a_failed_creation_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> Bytes:
        raise ValueError("no font")

    with pytest.raises(ValueError, match="no font"):
        load_or_create(tmp_path / "file", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["file.lock"]
    assert np.array_equal(load_or_create(tmp_path / "file", lambda: CONTENT), CONTENT)
