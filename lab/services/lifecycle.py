"""Start and stop one daemon."""

import subprocess
import time

from lab import processes
from lab.command import clean_environment
from lab.errors import LabError
from lab.services.daemons import Daemon
from lab.state_folder import StateFolder

START_WITHIN_S = 60
STOP_WITHIN_S = 10
TAIL_LINES = 8  # of a daemon's stderr in an error message


def start(daemon: Daemon, folder: StateFolder) -> None:
    """Start the daemon unless it runs, and return when it serves; raise LabError with its last output if it ends."""
    process = None
    if not daemon.is_running():
        stop(daemon)  # a process of it may still run in a deleted namespace and hold its files
        process = _launch(daemon, folder)
    deadline = time.monotonic() + START_WITHIN_S
    while not daemon.is_serving():
        time.sleep(0.05)
        if process and process.poll() is not None:
            raise LabError(f"{daemon.name} ended at once; {_stderr_tail(daemon, folder)}")
        if time.monotonic() > deadline:
            raise LabError(f"{daemon.name} does not serve after {START_WITHIN_S} s; {_stderr_tail(daemon, folder)}")


def stop(daemon: Daemon) -> None:
    """Stop the daemon, its children and the jobs on its host, and return when all of them have ended."""
    alive = daemon.processes()
    jobs = processes.find_in_networks(process.network for process in alive) if daemon.host else []
    children = processes.find_children(alive)
    processes.stop({process.pid for process in [*alive, *children, *jobs]}, patience_s=STOP_WITHIN_S)


def _launch(daemon: Daemon, folder: StateFolder) -> subprocess.Popen[bytes]:
    with folder.stderr(daemon.name).open("wb") as output:
        return subprocess.Popen(
            daemon.command,
            env=clean_environment(SLURM_CONF=str(folder.slurm_conf)),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            umask=0o022,
            start_new_session=True,
        )


def _stderr_tail(daemon: Daemon, folder: StateFolder) -> str:
    stderr = folder.stderr(daemon.name)
    lines = stderr.read_text(errors="replace").splitlines() if stderr.exists() else []
    return "\n".join([f"{stderr} ends with:", *lines[-TAIL_LINES:]])
