"""An attempt writes heartbeats, and ends when a later attempt has begun."""

import subprocess
import sys
from pathlib import Path

from contract.folder.run_folder import RunFolder
from tests.testing.servers import wait_for
from tests.testing.trainers.jobs import prepare

TRAIN = """
import sys, time
from pathlib import Path
from contract.folder.run_folder import RunFolder
from trainers.ranks import heartbeat
heartbeat.start_heartbeat(RunFolder(Path(sys.argv[1])), 1, every_s=0.05)
time.sleep(300)
"""


def test_an_attempt_writes_heartbeats_and_exits_when_a_later_attempt_begins(tmp_path: Path) -> None:
    """Forces a later attempt while this attempt is still training."""
    folder: RunFolder = prepare(tmp_path / "run")
    folder.claim(1, "first")
    process = subprocess.Popen([sys.executable, "-c", TRAIN, str(folder.path)], stderr=subprocess.PIPE, text=True)
    wait_for("a sign of life", lambda: folder.read_heartbeat(1) is not None)
    assert process.poll() is None
    beat = folder.read_heartbeat(1)
    assert beat is not None
    assert beat.age_s < 20
    folder.claim(2, "second")
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (3, "attempt 1 leaves: attempt 2 has begun\n")


def test_an_attempt_without_a_heartbeat_has_no_age(tmp_path: Path) -> None:
    assert prepare(tmp_path / "run").read_heartbeat(1) is None
