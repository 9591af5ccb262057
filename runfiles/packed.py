"""Several runs in one Slurm job, one job step each: this program runs on the job's first host, and starts the steps.

The folder of the task lists the runs' folders. A request to end a run is a file in its folder (attempts/N.stop); the
exit status of its job step is written to attempts/N.end, unless Slurm ends the whole job: then Slurm's answer counts
for every run that was active. Exit status: 0 when every exit status is written; 143 when Slurm ended the job; else 1.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .job_folder import JobFolder
from .job_name import MEMBER_VARIABLE
from .regular_file import open_for_append

POLL_S = 1.0
JOB_END_WAIT_S = 3.0  # after a failed step: if Slurm were ending the job, SIGTERM would arrive in this time
KILL_AGAIN_S = 10.0
MEMBERS_WAIT_S = 60.0  # a shared file system may show the scheduler's files so late
WRITE_RETRY_S = 60.0  # how long to retry an exit status that a full disk rejects
COMMAND_NOT_FOUND = 127  # the exit status of a shell for a command that cannot start


class PackedRun:
    """One run of a shared job, and the srun process of its job step."""

    def __init__(self, folder: JobFolder, attempt: int) -> None:
        self.folder, self.attempt = folder, attempt
        self.is_written = folder.read_part_exit(attempt) is not None  # true if an earlier start of the job wrote it
        self._step: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._ended = self._killed = 0.0  # by the monotonic clock
        self._pause_requested = False

    def start(self, member: int, command: Sequence[str]) -> None:
        """Start the job step; if it cannot start, it has ended with COMMAND_NOT_FOUND."""
        words = [word.replace("{}", str(self.folder.path)) for word in command]
        environment = {**os.environ, MEMBER_VARIABLE: str(member)}
        try:
            with open_for_append(self.folder.log) as log:
                self._step = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        except OSError as error:
            print(f"member {member}: {error}", file=sys.stderr, flush=True)
            self._status, self._ended = COMMAND_NOT_FOUND, time.monotonic()

    def poll(self, *, job_ends: bool) -> bool:
        """Act on requests and write an exit status; return False when nothing remains to be done."""
        if self.is_written:
            return False
        if self._step and self._status is None:
            self._status, self._ended = self._step.poll(), time.monotonic()
        if self._status is None:
            self._forward_request()
            return True
        since_s = time.monotonic() - self._ended
        if self._status and job_ends:
            return False
        if self._status == 0 or since_s >= JOB_END_WAIT_S:
            self._write_status()
        return not self.is_written and since_s < WRITE_RETRY_S

    def _forward_request(self) -> None:
        """Send srun the signal for the request: srun forwards SIGUSR2 to the ranks, and kills them at SIGTERM."""
        assert self._step
        request = self.folder.read_end_request(self.attempt)
        if request == "KILL" and time.monotonic() - self._killed >= KILL_AGAIN_S:
            self._killed = time.monotonic()
            self._step.send_signal(signal.SIGTERM)
        elif request == "TERM" and not self._pause_requested:
            self._pause_requested = True
            self._step.send_signal(signal.SIGUSR2)

    def _write_status(self) -> None:
        assert self._status is not None
        try:
            self.folder.write_part_exit(self.attempt, self._status if self._status >= 0 else 128 - self._status)
        except OSError as error:
            print(f"{self.folder.path}: its exit status cannot be written: {error}", file=sys.stderr, flush=True)
        else:
            self.is_written = True


def run_packed(task: Path, attempt: int, command: Sequence[str]) -> int:
    """Start all runs of the task at once, poll them until the last one ends, and return the exit status."""
    terminations: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: terminations.append(number))
    signal.signal(signal.SIGUSR2, lambda *_: None)  # the warning before the time limit is meant for the ranks
    until = time.monotonic() + MEMBERS_WAIT_S
    while not (folders := read_members(task)) and time.monotonic() < until:
        time.sleep(POLL_S)
    members = {number: PackedRun(folder, attempt) for number, folder in folders.items()}
    for number, member in members.items():
        if not member.is_written:
            member.start(number, command)
    while [member for member in members.values() if member.poll(job_ends=bool(terminations))]:
        time.sleep(POLL_S)
    if members and all(member.is_written for member in members.values()):
        return 0
    return 128 + signal.SIGTERM if terminations else 1


def read_members(task: Path) -> dict[int, JobFolder]:
    """Return the folders of a task's runs by member number, as contract/folder/array_folder.py links them.

    None while no link is visible.
    """
    numbers = sorted(int(path.name) for path in task.glob("*") if path.name.isdecimal())
    return {number: JobFolder(task / str(number)) for number in numbers}
