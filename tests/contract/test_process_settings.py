"""The settings of a process: secrets from its parent's socket, others from the environment."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from contract.process_settings import SETTINGS_SOCKET, send_settings

pytestmark = pytest.mark.ring("quick")

FROM_PARENT, OF_SHELL = "parent-" * 5, "shell-" * 6  # tokens have at least 32 characters
PROGRAM = """
import ctypes, os, sys
from contract.process_settings import read_process_settings
settings = read_process_settings()
print(settings.token, settings.local_ranks, settings.broker, sorted(os.environ))
if sys.platform == "linux":
    PR_GET_DUMPABLE = 3
    print(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE))
"""


def output_of(home: Path, secrets: dict[str, str] | None, **variables: str) -> list[str]:
    """Run the program as a child of the service is run; return its lines."""
    environment = {**os.environ, "BIGBATCH_HOME": str(home), **variables}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        passed = {} if secrets is None else {SETTINGS_SOCKET: str(theirs.fileno())}
        send_settings(ours, secrets or {})
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, env=environment | passed, pass_fds=[theirs.fileno()], capture_output=True, text=True, timeout=150
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_settings_from_the_socket_go_before_the_environment(tmp_path: Path) -> None:
    secrets = {"token": FROM_PARENT}
    found = output_of(
        tmp_path, secrets, BIGBATCH_TOKEN=OF_SHELL, BIGBATCH_LOCAL_RANKS="3", BIGBATCH_BROKER="redis://it"
    )[0]
    assert found.startswith(f"{FROM_PARENT} 3 redis://it ")
    assert SETTINGS_SOCKET not in found, "a process that this one starts has no such socket"


def test_without_a_socket_the_environment_is_read(tmp_path: Path) -> None:
    assert output_of(tmp_path, None, BIGBATCH_TOKEN=OF_SHELL)[0].startswith(f"{OF_SHELL} 0 ")


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels have no such request")
def test_the_kernel_hides_the_process(tmp_path: Path) -> None:
    assert output_of(tmp_path, None)[1] == "0"


def test_an_existing_home_is_closed_to_other_users(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    output_of(home, None)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
