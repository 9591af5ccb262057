"""Another Unix user of this machine, whose programs tests run as root; elsewhere such a test is skipped."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testing.needs import require

NOBODY = 65534  # the number of the other user, and of its group
PYTHON = "/usr/bin/python3"  # this environment and the checkout may be closed to other users


@contextmanager
def open_folder_of_tests() -> Iterator[Path]:
    """A folder that every user can enter; files and folders that the test makes have the usual modes."""
    require([] if os.geteuid() == 0 else ["needs root to become another user"])
    require([] if Path(PYTHON).exists() else [f"needs {PYTHON}, which every user can execute"])
    before = os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="bigbatch-other-user-") as path:
        Path(path).chmod(0o755)
        yield Path(path)
    os.umask(before)


def run_as_other_user(code: str, *words: object, text: bytes = b"", timeout_s: float = 150) -> str:
    """Carry out a program of Python as the other user; return what it prints."""
    command = [PYTHON, "-I", "-c", code, *map(str, words)]
    done = subprocess.run(
        command,
        input=text,
        check=True,
        env={},
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        stdout=subprocess.PIPE,
        timeout=timeout_s,
    )
    return done.stdout.decode()


@contextmanager
def without_root(folder: Path) -> Iterator[None]:
    """Let this process be the other user for a while, if it is root, whom no mode keeps out; the folder is theirs."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
