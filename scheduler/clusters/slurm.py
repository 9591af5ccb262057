"""A Slurm cluster: submitit writes the script, we hand it in, and Slurm is asked once for all jobs.

Whether a job lives is asked of Slurm by us: submitit asks for each job, and takes some living states for ends.
"""

import errno
import re
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from contract.cluster import ClusterReport
from scheduler.clusters import slurm_limits, slurm_report, slurm_script
from scheduler.clusters.cluster import (
    Answer,
    Array,
    BusyError,
    DoubtError,
    FullError,
    Held,
    Job,
    Limits,
    RefusedError,
    Unknown,
)
from scheduler.clusters.gate import Gate, OpenGate, Urgency
from scheduler.clusters.slurm_commands import SUBMIT_S, TIMED_OUT, Commands, Said, rows
from scheduler.clusters.slurm_find import Finder
from scheduler.clusters.slurm_ids import base_of, gather
from scheduler.clusters.slurm_jobs import how_are

LIMITS_SERVE_S = 3600.0
FULL_S = 30.0  # how long a Slurm that takes no more is left alone
# what sbatch says when the controller could not be asked, or perhaps heard and could not answer
DOUBTS = ("timed out", "unable to contact", "authentication credential", "connection refused", "connection reset")
FULL = ("submit limit", "maxsubmit", "submitjoblimit", "job array specification", "array size", "temporarily unable")
ENDED = ("invalid job id", "already completing", "already completed", "job/step already")


class Slurm:
    is_here = False

    def __init__(self, python: str = "", setup: Sequence[str] = (), gate: Gate | None = None) -> None:
        self._python = python or shlex.quote(sys.executable)
        self._setup = list(setup)
        self._commands = Commands(gate or OpenGate())
        self._finder = Finder(self._commands)
        self._limits: Limits | None = None
        self._limits_until = 0.0
        self._full_until = 0.0

    def limits(self) -> Limits:
        if not self._limits or time.monotonic() > self._limits_until:
            found = slurm_limits.read(self._commands)
            self._limits, self._limits_until = Limits(found.tasks, found.jobs), time.monotonic() + LIMITS_SERVE_S
        return self._limits

    def may_submit(self) -> bool:
        return time.monotonic() > self._full_until and self._commands.gate.free(Urgency.ACT) > 0

    def looks_left(self) -> int:
        return self._commands.gate.free(Urgency.ASK)

    def submit(self, job: Job | Array) -> str:
        path = job.folder.script if isinstance(job, Array) else job.folder.submission / f"{job.name}.sh"
        try:
            path.write_text(self.script(job))
        except OSError as error:
            raise (FullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else RefusedError)(
                f"{path} cannot be written: {error}"
            ) from error
        try:
            return self._hand_in(path)
        except FullError:
            self._ask_for_less(job)
            raise

    def ask(self, jobs: Sequence[Held]) -> Mapping[str, Answer]:
        if not jobs:
            return {}
        try:
            return how_are(jobs, self._commands)
        except BusyError:
            raise
        except DoubtError as doubt:
            return {job.id: Unknown(str(doubt)) for job in jobs}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        return self._finder.find(names)

    def cancel(self, jobs: Sequence[Held], *, force: bool = False) -> None:
        if self._commands.gate.free(Urgency.ACT) < 2:
            raise BusyError("scancel has to wait: this minute's calls of Slurm are spent")
        asked = ("squeue", "--me", "-h", "-o", "%F|%j")
        # a controller that died gives its last ids again: an ended run's leftover may be somebody else's job by now
        listed = {tuple(row) for row in rows(self._commands.ask(*asked, urgency=Urgency.ACT), 2)}
        if ours := [job.id for job in jobs if (base_of(job.id), job.name) in listed]:
            self._end(ours, force=force)

    def _end(self, job_ids: Sequence[str], *, force: bool) -> None:
        # scancel escalates from TERM to KILL by itself, after the cluster's KillWait; an array is one word
        how = ("--signal=KILL", "--full") if force else ()
        said = self._commands.run("scancel", *how, *gather(job_ids), urgency=Urgency.ACT)
        if said.code and not _is_about_ended(said):
            raise DoubtError(f"scancel: {said.words or f'exit code {said.code}'}")

    def report(self) -> ClusterReport:
        return slurm_report.report(self._commands)

    def script(self, job: Job | Array) -> str:
        return slurm_script.script(job, python=self._python, setup=self._setup)

    def _ask_for_less(self, job: Job | Array) -> None:
        """What was too much now may be so for a while, and half of an array may do."""
        self._full_until = time.monotonic() + FULL_S
        if isinstance(job, Array) and self._limits:
            self._limits = self._limits._replace(tasks=max(1, len(job.tasks) // 2))

    def _hand_in(self, script: Path) -> str:
        said = self._commands.run("sbatch", str(script), urgency=Urgency.ACT, patience_s=SUBMIT_S)
        if not said.code:
            if found := re.search(r"job (\d+)", said.out):
                return found.group(1)
            raise DoubtError(f"sbatch said nothing of a job: {said.out.strip()!r:.200}")
        lower = said.words.lower()
        if said.code == TIMED_OUT or any(phrase in lower for phrase in DOUBTS):
            raise DoubtError(f"sbatch: {said.words or f'no answer within {SUBMIT_S} s'}")
        if any(phrase in lower for phrase in FULL):
            raise FullError(said.words)
        raise RefusedError(said.words or f"sbatch: exit code {said.code}")


def _is_about_ended(said: Said) -> bool:
    """Whether all that scancel complains of is jobs that have ended."""
    complaints = [line for line in said.words.lower().split("; ") if line]
    return bool(complaints) and all(any(phrase in line for phrase in ENDED) for line in complaints)
