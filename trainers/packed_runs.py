"""`python -m trainers.packed_runs FOLDER --attempt N -- COMMAND`: several runs in one Slurm job, one job step each.

FOLDER lists the runs' folders. COMMAND starts one run; {} stands for the run's folder. This program runs on the job's
first host, without torch. A request to end a run is a file in its folder (attempts/N.stop); the exit status of its job
step is written to attempts/N.end, unless Slurm ends the whole job: then Slurm's answer counts for every active run.
Exit status: 0 when every exit status is written; 143 when Slurm ended the job; else 1.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from contract.folder.array_folder import read_members
from contract.folder.run_folder import RunFolder
from runfiles.job_name import MEMBER_VARIABLE

POLL_S = 1.0
JOB_END_WAIT_S = 3.0  # after a failed step: if Slurm were ending the job, SIGTERM would arrive in this time
KILL_AGAIN_S = 10.0
MEMBERS_WAIT_S = 60.0  # a shared file system may show the scheduler's files so late
WRITE_RETRY_S = 60.0  # how long to retry an exit status that a full disk rejects
COMMAND_NOT_FOUND = 127  # the exit status of a shell for a command that cannot start


class PackedRun:
    """One run of a shared job, and the srun process of its job step."""

    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self.folder, self.attempt = folder, attempt
        self.is_written = folder.read_part_exit(attempt) is not None  # true if an earlier start of the job wrote it
        self._step: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._ended = self._killed = 0.0  # by the monotonic clock
        self._pause_requested = False

    def start(self, member: int, command: Sequence[str]) -> None:
        """Start the job step; if it cannot start, it has ended with COMMAND_NOT_FOUND."""
        words = [word.replace("{}", str(self.folder.path)) for word in command]
        try:
            with self.folder.log.open("ab") as log:
                environment = {**os.environ, MEMBER_VARIABLE: str(member)}
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
        request = None
        with suppress(OSError):  # the next poll reads again after a file system error
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


def main() -> None:
    """Parse the command line and run the packed runs."""
    parser = argparse.ArgumentParser(prog="python -m trainers.packed_runs", description="Run the runs of one job.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("command", nargs="+", help="starts one run; {} stands for its folder")
    options = parser.parse_args()
    raise SystemExit(run_packed(options.folder.absolute(), options.attempt, options.command))


if __name__ == "__main__":
    main()
