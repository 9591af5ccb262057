"""The guard: a process that outlives the agent of a local job, and kills the ranks if the agent was killed.

Slurm ends what a job leaves behind; on one machine nothing else would end the grandchildren of a killed agent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from agent.ranks import processes

OPTION = "--guard"
SETTLED = b"."  # the agent has ended its ranks itself


class Guard:
    """The agent's end of the guard."""

    def __init__(self, marker: str) -> None:
        """Start the guard; `marker` is an environment entry of every rank, as NAME=VALUE."""
        program = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        # neither the job's name, by which its first process is found, nor its process group, which may be killed
        environment = {name: value for name, value in os.environ.items() if name != "BIGBATCH_JOB"}
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", program, OPTION, marker],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self.pid = self._child.pid

    def dismiss(self) -> None:
        """End the guard."""
        if self._child.stdin:
            try:
                self._child.stdin.write(SETTLED)
                self._child.stdin.close()
            except OSError:
                pass
        self._child.wait()


def main(marker: str) -> None:
    """Wait for the agent's end, and kill the ranks unless the agent has done so."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read(1) == SETTLED:
        return
    for _ in range(3):
        others = [pid for pid in processes.processes_with(marker) if pid != os.getpid()]
        if not others:
            break
        processes.signal_all(others, signal.SIGKILL)
