"""Slurm: the cluster whose jobs Slurm runs.

submitit writes the scripts, and this module submits them: submitit would ask for each job's status in a call of its
own, and takes some states of running jobs for ends.
"""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from contract.api.cluster_report import ClusterReport, SubmitLimits
from contract.api.drafts import SlurmPrediction
from contract.folder.files.atomic_file import write_atomic
from contract.folder.files.disk_errors import is_transient
from scheduler.clusters.cluster import (
    ArrayRequest,
    ArrayTooLargeError,
    Gone,
    JobHandle,
    JobRequest,
    JobStatus,
    Limits,
    NoAnswerError,
    RateLimitedError,
    RefusedError,
    ScriptNotWrittenError,
    Unknown,
)
from scheduler.clusters.rate_limit import LONG_BACKOFF_S, POLL_APART_S, Priority, RateLimit, UnlimitedRate
from scheduler.clusters.slurm.commands import (
    ALL_PARTITIONS,
    SBATCH_TIMEOUT_S,
    CommandResult,
    Commands,
    parse_rows,
)
from scheduler.clusters.slurm.find import JobFinder
from scheduler.clusters.slurm.job_ids import array_id, merge_array_tasks
from scheduler.clusters.slurm.job_status import read_job_status
from scheduler.clusters.slurm.limits import SlurmLimits
from scheduler.clusters.slurm.predict import predict_start
from scheduler.clusters.slurm.report import read_report
from scheduler.clusters.slurm.sbatch_errors import classify_sbatch_error
from scheduler.clusters.slurm.script import render_script

STATUS_CALLS = 3  # squeue, sacct and scontrol, at most
CANCEL_CALLS = 2  # squeue and scancel
CANCEL_WAITS_S = 30.0  # for so long submissions leave the calls of a cancellation that the rate limit stopped
JOB_ENDED_MESSAGES = ("invalid job id", "already completing", "already completed", "job/step already")


class Slurm:
    """A Slurm cluster; `python` and `setup` are the interpreter and the shell commands of its job scripts."""

    is_local = False

    def __init__(self, python: str = "", setup: Sequence[str] = (), rate_limit: RateLimit | None = None) -> None:
        self._python = python
        self._setup = list(setup)
        self._commands = Commands(rate_limit or UnlimitedRate())
        self._finder = JobFinder(self._commands)
        self._limits = SlurmLimits(self._commands)
        self._cancel_waits_until = 0.0
        self._has_open_answers = False  # of the last status

    def limits(self) -> Limits:
        return self._limits.read()

    def may_submit(self, *, single: bool = False, besides: int = 0) -> bool:
        rate_limit = self._commands.rate_limit
        if rate_limit.has_host_fault() or rate_limit.is_backing_off(LONG_BACKOFF_S):
            return False
        free = rate_limit.count_free(Priority.SUBMIT_ONE if single else Priority.SUBMIT)
        if time.monotonic() >= self._cancel_waits_until:
            return free > besides
        shared = rate_limit.count_shared()
        # a cancellation takes its own calls first, and none that only submissions may use
        lacks = CANCEL_CALLS - (rate_limit.count_free(Priority.CANCEL) - shared)
        return free > besides + min(max(lacks, 0), shared)

    def submit(self, job: JobRequest | ArrayRequest) -> str:
        path = job.folder.script if isinstance(job, ArrayRequest) else job.folder.submission / f"{job.name}.sh"
        try:
            with suppress(FileExistsError):
                path.parent.mkdir()
            # the lines of BIGBATCH_SLURM_SETUP are nobody else's
            write_atomic(path.parent.parent, f"{path.parent.name}/{path.name}", self.script(job), mode=0o600)
        except OSError as error:
            raise (ScriptNotWrittenError if is_transient(error) else RefusedError)(
                f"{path} cannot be written: {error}"
            ) from error
        try:
            job_id = self._call_sbatch(path, Priority.SUBMIT if isinstance(job, ArrayRequest) else Priority.SUBMIT_ONE)
        except ArrayTooLargeError:
            if isinstance(job, ArrayRequest):
                self._limits.record_refused(len(job.tasks))
            raise
        self._limits.record_accepted(len(job.tasks) if isinstance(job, ArrayRequest) else 1)
        return job_id

    def status(self, jobs: Sequence[JobHandle]) -> Mapping[JobHandle, JobStatus]:
        if not jobs:
            return {}
        try:
            answers = read_job_status(jobs, self._commands)
        except RateLimitedError:
            if not self._has_open_answers or not self._may_follow_up():  # a poll that left jobs open is repeated soon
                raise
            answers = read_job_status(jobs, self._commands, Priority.FOLLOW_UP)
        self._has_open_answers = any(map(_is_open, answers.values()))
        return answers

    def _may_follow_up(self) -> bool:
        """Return whether the controller answers, and squeue, sacct and scontrol may all be called: the last decides."""
        rate_limit = self._commands.rate_limit
        return rate_limit.count_free(Priority.FOLLOW_UP) >= STATUS_CALLS and not rate_limit.is_backing_off(POLL_APART_S)

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        return self._finder.find(names)

    def cancel(self, jobs: Sequence[JobHandle], *, force: bool = False) -> Sequence[JobHandle]:
        if self._commands.rate_limit.count_free(Priority.CANCEL) < CANCEL_CALLS:
            # submissions would use each free call, and two calls would never be free at once
            self._cancel_waits_until = time.monotonic() + CANCEL_WAITS_S
            raise RateLimitedError("scancel was not called: the rate limit of Slurm commands is reached")
        options = ("--me", *ALL_PARTITIONS, "-h", "-o", "%F|%j")
        rows = parse_rows(self._commands.ask("squeue", *options, priority=Priority.CANCEL), 2)
        # slurmctld may reuse job ids after a crash, so jobs match by id and name
        listed, ids = {tuple(row) for row in rows}, {name: job_id for job_id, name in rows}
        if listed_jobs := [job for job in jobs if (array_id(job.id) or ids.get(job.name), job.name) in listed]:
            self._call_scancel([job.id or ids[job.name] for job in listed_jobs], force=force)
        return listed_jobs

    def report(self, *, urgent: bool = False) -> ClusterReport:
        priority = Priority.FOLLOW_UP if urgent else Priority.REPORT
        report = read_report(self._commands, priority, whole_nodes=self._limits.whole_nodes)
        with suppress(NoAnswerError):  # the next submission would read the limits anyway
            limits = self._limits.read()
            return report.model_copy(
                update={"admits": SubmitLimits(tasks=self._limits.largest_array, jobs=limits.jobs)}
            )
        return report

    def predict_start(self, script: str) -> SlurmPrediction:
        """Return when Slurm would start the job of a script; raise RateLimitedError if it was not asked."""
        return predict_start(self._commands, script)

    def script(self, job: JobRequest | ArrayRequest) -> str:
        return render_script(job, python=self._python, setup=self._setup)

    def _call_sbatch(self, script: Path, kind: Priority) -> str:
        result = self._commands.run("sbatch", str(script), priority=kind, timeout_s=SBATCH_TIMEOUT_S)
        if result.exit_code:
            raise classify_sbatch_error(result)
        if found := re.search(r"job (\d+)", result.stdout):
            return found.group(1)
        raise NoAnswerError(f"sbatch printed no job id: {result.stdout.strip()!r:.200}")

    def _call_scancel(self, job_ids: Sequence[str], *, force: bool) -> None:
        # without --signal, scancel itself sends SIGTERM and, after the cluster's KillWait, SIGKILL
        options = ("--signal=KILL", "--full") if force else ()
        result = self._commands.run("scancel", *options, *merge_array_tasks(job_ids), priority=Priority.CANCEL)
        if result.exit_code and not _have_jobs_ended(result):
            raise NoAnswerError(f"scancel: {result.message or f'exit code {result.exit_code}'}")


def _is_open(answer: JobStatus) -> bool:
    return isinstance(answer, Unknown) or (isinstance(answer, Gone) and not answer.is_certain)


def _have_jobs_ended(result: CommandResult) -> bool:
    """Return whether all errors of scancel concern jobs that have ended."""
    errors = [error for error in result.message.lower().split("; ") if error]
    return bool(errors) and all(any(part in error for part in JOB_ENDED_MESSAGES) for error in errors)
