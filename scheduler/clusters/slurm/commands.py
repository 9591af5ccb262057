"""Slurm's commands: all called here, through the gate, with a time limit, and read without guessing."""

import os
import subprocess
import time
from typing import NamedTuple

from scheduler.clusters.cluster import BusyError, DoubtError, SparedError, goes_with_a_job
from scheduler.clusters.rate_limit import Gate, Urgency

PATIENCE_S = 20  # a controller that is down makes its clients wait for minutes
SUBMIT_S = 12  # what was not answered by then is asked for by name: nobody need wait for sbatch's own time-out
TIMED_OUT = 124  # timeout's exit code
ACCOUNTING = ("sacct", "sacctmgr")  # these ask slurmdbd, all others the controller
# what a command says when the controller could not be asked, or perhaps heard and could not answer
SILENCES = (
    *("timed out", "unable to contact", "connection", "no route to host", "authentication", "credential"),
    *("zero bytes were transmitted", "zero length message", "message receive failure", "message send failure"),
    *("standby mode", "configuration source", "i/o error writing script"),
)


class Said(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    words: str  # what it said is wrong

    @property
    def is_silence(self) -> bool:
        """Whether there was nobody to answer: it may have been heard, or not."""
        lower = self.words.lower()
        return self.code == TIMED_OUT or bool(self.code and any(phrase in lower for phrase in SILENCES))


class Commands:
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def ask(self, *command: str, urgency: Urgency = Urgency.ASK) -> str:
        """Run one of Slurm's commands and return what it printed.

        Raise BusyError when it was not called, because others have been, and DoubtError on anything but success.
        """
        said = self.run(*command, urgency=urgency)
        if said.code == TIMED_OUT:
            raise DoubtError(f"{command[0]} gave no answer within {PATIENCE_S} s")
        if said.code:
            raise DoubtError(f"{command[0]}: {said.words or f'exit code {said.code}'}")
        return said.out

    def run(self, *command: str, urgency: Urgency, patience_s: int = PATIENCE_S) -> Said:
        """Run one of Slurm's commands to its end, or to the end of our patience.

        Raise SparedError instead when the controller kept silent a moment ago: only looks go on asking then.
        """
        asks_controller = command[0] not in ACCOUNTING
        if asks_controller and urgency is not Urgency.LOOK and self.gate.spared():
            raise SparedError(f"{command[0]} has to wait: the controller did not answer a moment ago")
        if not self.gate.enter(urgency):
            raise BusyError(f"{command[0]} has to wait: this minute's calls of Slurm are spent")
        began = time.monotonic()
        try:
            # `timeout` ends the command also when this process is killed meanwhile
            bounded = ("timeout", str(patience_s), *command)
            done = subprocess.run(bounded, capture_output=True, text=True, errors="replace", env=_environment())
        except OSError as error:
            raise DoubtError(f"{command[0]}: {error}") from error
        outcome = {0: "ok", TIMED_OUT: "timeout"}.get(done.returncode, "failed")
        self.gate.note(command[0], outcome, time.monotonic() - began)
        said = Said(done.returncode, done.stdout, words(done.stderr))
        if asks_controller:
            self.gate.heard(silence=said.is_silence)
        return said


def rows(text: str, fields: int) -> list[list[str]]:
    """Split the lines of an answer at their bars, the last field taking what is left; others are no answer."""
    split = [[field.strip() for field in line.split("|", fields - 1)] for line in text.splitlines()]
    return [row for row in split if len(row) == fields]


def words(stderr: str) -> str:
    """What Slurm said, without the name of the command on every line."""
    lines = [line.split("error:", 1)[-1].strip() for line in stderr.splitlines()]
    return "; ".join(line for line in lines if line)


# also in partitions that are hidden, or closed to the user's group: else not even its owner is told of a job there
EVERYWHERE = ("-a",)
_LEADING = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")  # to the cluster itself, and in
# what changes what a command shows (SQUEUE_FORMAT and the like), and what would overrule a script
_SHAPING = ("SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "SBATCH_", "SLURM_", "SRUN_")


def _environment() -> dict[str, str]:
    """Ours without what would shape an answer, and without our secrets: a job gets sbatch's environment."""
    ours = {name: value for name, value in os.environ.items() if goes_with_a_job(name)}
    kept = {name: value for name, value in ours.items() if not name.startswith(_SHAPING) or name in _LEADING}
    return kept | {"LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}  # in whole words, and lists of tasks whole
