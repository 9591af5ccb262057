"""The logs of the service's parts are bounded while the parts write them."""

import os
from pathlib import Path

import pytest

from bigbatch.service import log_file
from bigbatch.service.environment import ProcessEnvironment
from bigbatch.service.process import ServiceProcess
from tests.testing.servers import wait_for

WRITER = "import sys, time\nfor number in range(2000): print(f'line {number:06}', flush=True)\ntime.sleep(60)\n"


def test_a_long_log_becomes_the_one_before_and_its_writer_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    with log.open("ab") as writer:
        writer.write(b"a" * 150 + b"b" * 100)
        writer.flush()
        log_file.rotate(log, 100)
        writer.write(b"c" * 10)
        writer.flush()
        assert (log.read_bytes(), (tmp_path / "worker.log.1").read_bytes()) == (b"c" * 10, b"b" * 100)
        log_file.rotate(log, 100)
    assert log.read_bytes() == b"c" * 10
    assert {path.name for path in tmp_path.iterdir()} == {"worker.log", "worker.log.1"}
    assert (tmp_path / "worker.log.1").stat().st_mode & 0o077 == 0


def test_a_log_is_emptied_although_the_one_before_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the disk is full."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    log = tmp_path / "worker.log"
    log.write_bytes(b"a" * 200)
    monkeypatch.setattr(log_file, "copyfileobj", fail)
    with pytest.raises(OSError, match="No space"):
        log_file.rotate(log, 100)
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("worker.log", 0)]


def test_a_part_of_the_service_writes_into_a_bounded_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "MAX_BYTES", 4_000)
    (tmp_path / "writer.py").write_text(WRITER)
    environment = ProcessEnvironment({**os.environ, "PYTHONPATH": str(tmp_path)}, {})
    log = tmp_path / "logs" / "writer.log"
    part = ServiceProcess("writer", ["writer"], log=log, environment=environment)
    part.start()
    try:
        before = log.with_suffix(".log.1")

        def has_ended() -> bool:
            part.bound_log()
            return any("line 001999" in path.read_text() for path in (log, before) if path.exists())

        wait_for("the last line", has_ended)
        part.bound_log()  # what came between the last look and the last line
        assert sum(path.stat().st_size for path in (log, before)) <= 2 * 4_000
    finally:
        part.kill()
