"""A Slurm cluster: submitit writes the script, we hand it in, and Slurm is asked once for all jobs.

Whether a job lives is asked of Slurm by us: submitit asks for each job, and takes some living states for ends.
"""

import re
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from contract.api.cluster_report import Admits, ClusterReport
from contract.folder.disk_errors import may_pass
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
    TooManyError,
)
from scheduler.clusters.rate_limit import SPARE_SUBMISSIONS_S, Gate, OpenGate, Urgency
from scheduler.clusters.slurm import report as slurm_report
from scheduler.clusters.slurm import script as slurm_script
from scheduler.clusters.slurm.commands import EVERYWHERE, SUBMIT_S, Commands, Said, rows
from scheduler.clusters.slurm.find import Finder
from scheduler.clusters.slurm.job_ids import base_of, gather
from scheduler.clusters.slurm.job_status import how_are
from scheduler.clusters.slurm.limits import SlurmLimits
from scheduler.clusters.slurm.sbatch_errors import trouble

FULL_S = 30.0  # how long a Slurm that takes no more is left alone
CANCEL_CALLS, CANCEL_WAITS_S = 2, 30.0  # squeue and scancel; for how long submissions leave these to a stop that waits
ENDED = ("invalid job id", "already completing", "already completed", "job/step already")


class Slurm:
    is_here = False

    def __init__(self, python: str = "", setup: Sequence[str] = (), gate: Gate | None = None) -> None:
        self._python = python or shlex.quote(sys.executable)
        self._setup = list(setup)
        self._commands = Commands(gate or OpenGate())
        self._finder = Finder(self._commands)
        self._limits = SlurmLimits(self._commands)
        self._full_until = 0.0
        self._cancel_waits_until = 0.0

    def limits(self) -> Limits:
        return self._limits.read()

    def may_submit(self, *, besides: int = 0) -> bool:
        if time.monotonic() <= self._full_until or self._commands.gate.spared(SPARE_SUBMISSIONS_S):
            return False
        kept = besides + (CANCEL_CALLS if time.monotonic() < self._cancel_waits_until else 0)
        return self._commands.gate.free(Urgency.ACT) > kept

    def submit(self, job: Job | Array) -> str:
        path = job.folder.script if isinstance(job, Array) else job.folder.submission / f"{job.name}.sh"
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_text(self.script(job))
        except OSError as error:
            raise (FullError if may_pass(error) else RefusedError)(f"{path} cannot be written: {error}") from error
        try:
            job_id = self._hand_in(path)
        except FullError as full:
            self._full_until = time.monotonic() + FULL_S
            if isinstance(full, TooManyError) and isinstance(job, Array):
                self._limits.was_too_much(len(job.tasks))
            raise
        self._limits.was_taken(len(job.tasks) if isinstance(job, Array) else 1)
        return job_id

    def ask(self, jobs: Sequence[Held]) -> Mapping[Held, Answer]:
        return how_are(jobs, self._commands) if jobs else {}

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        return self._finder.find(names)

    def cancel(self, jobs: Sequence[Held], *, force: bool = False) -> Sequence[Held]:
        if self._commands.gate.free(Urgency.ACT) < CANCEL_CALLS:
            # submissions would take each call as it comes free, and there would never be two
            self._cancel_waits_until = time.monotonic() + CANCEL_WAITS_S
            raise BusyError("scancel has to wait: this minute's calls of Slurm are spent")
        asked = ("squeue", "--me", *EVERYWHERE, "-h", "-o", "%F|%j")
        # a controller that died gives its last ids again: an ended run's leftover may be somebody else's job by now
        listed = {tuple(row) for row in rows(self._commands.ask(*asked, urgency=Urgency.ACT), 2)}
        if ours := [job for job in jobs if (base_of(job.id), job.name) in listed]:
            self._end([job.id for job in ours], force=force)
        return ours

    def _end(self, job_ids: Sequence[str], *, force: bool) -> None:
        # scancel escalates from TERM to KILL by itself, after the cluster's KillWait; an array is one word
        how = ("--signal=KILL", "--full") if force else ()
        said = self._commands.run("scancel", *how, *gather(job_ids), urgency=Urgency.ACT)
        if said.code and not _is_about_ended(said):
            raise DoubtError(f"scancel: {said.words or f'exit code {said.code}'}")

    def report(self, *, urgent: bool = False) -> ClusterReport:
        told = slurm_report.report(self._commands, Urgency.ASK if urgent else Urgency.TELL, linear=self._limits.linear)
        with suppress(DoubtError):  # whoever submits first would ask for it anyway
            limits = self._limits.read()
            return told.model_copy(update={"admits": Admits(tasks=self._limits.largest_array, jobs=limits.jobs)})
        return told

    def script(self, job: Job | Array) -> str:
        return slurm_script.script(job, python=self._python, setup=self._setup)

    def _hand_in(self, script: Path) -> str:
        said = self._commands.run("sbatch", str(script), urgency=Urgency.ACT, patience_s=SUBMIT_S)
        if not said.code:
            if found := re.search(r"job (\d+)", said.out):
                return found.group(1)
            raise DoubtError(f"sbatch said nothing of a job: {said.out.strip()!r:.200}")
        raise trouble(said)


def _is_about_ended(said: Said) -> bool:
    """Whether all that scancel complains of is jobs that have ended."""
    complaints = [line for line in said.words.lower().split("; ") if line]
    return bool(complaints) and all(any(phrase in line for phrase in ENDED) for line in complaints)
