"""Start one daemon, wait until it serves, stop it."""

import subprocess
import time

from lab import processes
from lab.command import environment
from lab.errors import LabError
from lab.services.daemons import Daemon
from lab.state_folder import Folder

START_WITHIN_S = 60
STOP_WITHIN_S = 10


def start(daemon: Daemon, folder: Folder) -> None:
    """Start the daemon unless it runs, return when it serves; raise LabError with its last words if it ends."""
    process = None
    if not daemon.runs():
        stop(daemon)  # it may live on in a deleted namespace and hold its files
        process = _launch(daemon, folder)
    until = time.monotonic() + START_WITHIN_S
    while not daemon.serves():
        time.sleep(0.05)
        if process and process.poll() is not None:
            raise LabError(f"{daemon.name} ended at once, {_last_words(daemon, folder)}")
        if time.monotonic() > until:
            raise LabError(f"{daemon.name} does not serve after {START_WITHIN_S} s, {_last_words(daemon, folder)}")


def stop(daemon: Daemon) -> None:
    """Stop the daemon and what it has started itself, jobs on its host included, and return when they are gone."""
    alive = daemon.processes()
    jobs = processes.living_in(process.network for process in alive) if daemon.host else []
    processes.stop({process.pid for process in [*alive, *processes.children(alive), *jobs]}, patience_s=STOP_WITHIN_S)


def _launch(daemon: Daemon, folder: Folder) -> subprocess.Popen[bytes]:
    with folder.stderr(daemon.name).open("wb") as output:
        return subprocess.Popen(
            daemon.command,
            env=environment(SLURM_CONF=str(folder.slurm_conf)),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            umask=0o022,
            start_new_session=True,
        )


def _last_words(daemon: Daemon, folder: Folder) -> str:
    stderr = folder.stderr(daemon.name)
    lines = stderr.read_text(errors="replace").splitlines() if stderr.exists() else []
    return "\n".join([f"{stderr} ends with:", *lines[-8:]])
