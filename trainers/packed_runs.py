"""`python -m trainers.packed_runs FOLDER --attempt N -- COMMAND`: several runs side by side in one Slurm job, a step
for each.

FOLDER leads to the runs' folders; COMMAND begins one of them, with {} in the place of its folder. On the job's host,
without torch. A run that is to end finds the wish in its folder (attempts/N.stop), and how its step ended is written
there (attempts/N.end), except when Slurm ends the whole job: then Slurm's word counts for all that still live.
Exit status: 0 when every end is written, else 1, or 143 when the job was ended.
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

from contract.folder.array_folder import members_in
from contract.folder.job_identity import MEMBER
from contract.folder.run_folder import RunFolder

LOOK_S = 1.0
SETTLE_S = 3.0  # after a step's bad end: were the job ended, Slurm would have said so by now
KILL_AGAIN_S = 10.0
LATE_S = 60.0  # for so long a shared file system may not show what the scheduler has written
KEEP_TRYING_S = 60.0  # to write an end on a disk that is full
NO_STEP = 127  # a shell's status for a command that cannot be begun


class Member:
    """One of the runs, and the srun that carries it."""

    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self.folder, self.attempt = folder, attempt
        self.is_written = folder.end_status(attempt) is not None  # in a job that was requeued
        self._step: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._ended = self._killed = 0.0  # by the monotonic clock
        self._asked = False

    def begin(self, place: int, command: Sequence[str]) -> None:
        """Start the step; one that cannot be started has ended."""
        words = [word.replace("{}", str(self.folder.path)) for word in command]
        try:
            with self.folder.log.open("ab") as log:
                environment = {**os.environ, MEMBER: str(place)}
                self._step = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        except OSError as error:
            print(f"member {place}: {error}", file=sys.stderr, flush=True)
            self._status, self._ended = NO_STEP, time.monotonic()

    def goes_on(self, *, job_ends: bool) -> bool:
        """Carry out what is wished, write down an end; False when there is nothing more to do."""
        if self.is_written:
            return False
        if self._step and self._status is None:
            self._status, self._ended = self._step.poll(), time.monotonic()
        if self._status is None:
            self._heed()
            return True
        since_s = time.monotonic() - self._ended
        if self._status and job_ends:
            return False
        if self._status == 0 or since_s >= SETTLE_S:
            self._write()
        return not self.is_written and since_s < KEEP_TRYING_S

    def _heed(self) -> None:
        """srun hands USR2 on to the ranks, and on TERM kills them."""
        assert self._step
        wish = None
        with suppress(OSError):  # a file system that is away for a moment: the next look may get through
            wish = self.folder.wished_end(self.attempt)
        if wish == "KILL" and time.monotonic() - self._killed >= KILL_AGAIN_S:
            self._killed = time.monotonic()
            self._step.send_signal(signal.SIGTERM)
        elif wish == "TERM" and not self._asked:
            self._asked = True
            self._step.send_signal(signal.SIGUSR2)

    def _write(self) -> None:
        assert self._status is not None
        try:
            self.folder.note_end(self.attempt, self._status if self._status >= 0 else 128 - self._status)
        except OSError as error:
            print(f"{self.folder.path}: its end cannot be written: {error}", file=sys.stderr, flush=True)
        else:
            self.is_written = True


def carry_out(task: Path, attempt: int, command: Sequence[str]) -> int:
    """Begin all runs of the task at once and look after them until the last has ended; return the exit status."""
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ending.append(number))
    signal.signal(signal.SIGUSR2, lambda *_: None)  # the warning before the time limit is for the ranks
    until = time.monotonic() + LATE_S
    while not (folders := members_in(task)) and time.monotonic() < until:
        time.sleep(LOOK_S)
    members = {place: Member(folder, attempt) for place, folder in folders.items()}
    for place, member in members.items():
        if not member.is_written:
            member.begin(place, command)
    while [member for member in members.values() if member.goes_on(job_ends=bool(ending))]:
        time.sleep(LOOK_S)
    if members and all(member.is_written for member in members.values()):
        return 0
    return 128 + signal.SIGTERM if ending else 1


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m trainers.packed_runs", description="Carry out the runs of one job."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("command", nargs="+", help="begins one run; {} stands for its folder")
    asked = parser.parse_args()
    raise SystemExit(carry_out(asked.folder.absolute(), asked.attempt, asked.command))


if __name__ == "__main__":
    main()
