"""Signs of life, and the end of an attempt that another has overtaken."""

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
heartbeat.start(RunFolder(Path(sys.argv[1])), 1, every_s=0.05)
time.sleep(300)
"""


def test_an_attempt_gives_signs_of_life_and_leaves_when_a_later_one_begins(tmp_path: Path) -> None:
    """Forces the fault: the scheduler took the attempt for gone and began the next while it trained on."""
    folder: RunFolder = prepare(tmp_path / "run")
    folder.claim(1, "first")
    process = subprocess.Popen([sys.executable, "-c", TRAIN, str(folder.path)], stderr=subprocess.PIPE, text=True)
    wait_for("a sign of life", lambda: folder.last_beat(1) is not None)
    assert process.poll() is None
    beat = folder.last_beat(1)
    assert beat is not None
    assert beat.age_s < 20
    folder.claim(2, "second")
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (3, "attempt 1 leaves: attempt 2 has begun\n")


def test_who_never_gave_a_sign_has_no_age(tmp_path: Path) -> None:
    assert prepare(tmp_path / "run").last_beat(1) is None
