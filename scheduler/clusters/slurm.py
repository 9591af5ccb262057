"""A Slurm cluster: submitit submits, Slurm is asked once for all jobs.

submitit does what it is good at, the batch script and the submission. The job runs our command, not a pickle of
submitit's: that gets its final name only after sbatch has returned, so a worker that dies in between would strand
the job. Whether a job lives is asked of Slurm by us: submitit asks for each job, and takes some living states for ends.
"""

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.slurm.slurm import SlurmExecutor

from contract.cluster import ClusterReport
from contract.job import warning_s
from contract.resources import Slurm as SlurmResources
from scheduler.clusters import slurm_report
from scheduler.clusters.cluster import OURS, Alive, Answer, DoubtError, Gone, Job, RefusedError, Unknown
from scheduler.clusters.slurm_commands import PATIENCE_S, ask, rows, words
from scheduler.clusters.slurm_states import answer_for

DOUBT_S = 15.0  # how long a failure serves: a Slurm that hangs must not hang every tick
FRESH_S = 4.0  # how long an answer of squeue serves; a tick each second must not be a question each second
TIMED_OUT = 124  # timeout's exit code
# what sbatch says when the controller could not be asked, or perhaps heard and could not answer
DOUBTS = ("timed out", "unable to contact", "authentication credential", "connection refused", "connection reset")


class _Executor(SlurmExecutor):
    """submitit's executor for one command in place of a pickled function."""

    @classmethod
    def affinity(cls) -> int:
        return 1  # a batch script can be shown where there is no Slurm

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        # a job gets sbatch's environment, and none of the service's secrets belong on a compute node
        bare = ["env", *(f"--unset={name}" for name in os.environ if _must_stay(name))]
        return [*bare, "timeout", str(PATIENCE_S), *super()._make_submission_command(submission_file_path)]


class Slurm:
    def __init__(self, python: str = "", setup: Sequence[str] = ()) -> None:
        self._python = python or shlex.quote(sys.executable)
        self._setup = list(setup)
        self._seen: dict[str, Answer] = {}
        self._seen_until = 0.0
        self._doubt: DoubtError | None = None  # what came of the last look, where it came to nothing

    def submit(self, job: Job) -> str:
        try:
            job_id = str(self._executor(job)._submit_command(self._command(job)).job_id)
        except FailedJobError as error:
            code = getattr(error.__cause__, "returncode", 1)
            said = words(str(error))
            if code == TIMED_OUT or any(phrase in said.lower() for phrase in DOUBTS):
                raise DoubtError(f"sbatch: {said or f'no answer within {PATIENCE_S} s'}") from error
            raise RefusedError(said or f"sbatch: exit code {code}") from error
        except FailedSubmissionError as error:
            raise DoubtError(str(error)) from error
        self._seen[job_id] = Alive()  # until the next look
        return job_id

    def ask(self, job_ids: Sequence[str]) -> Mapping[str, Answer]:
        if not job_ids:
            return {}
        try:
            self._look()
        except DoubtError as doubt:
            return dict.fromkeys(job_ids, Unknown(str(doubt)))
        self._seen |= _long_gone([job_id for job_id in job_ids if job_id not in self._seen])
        return {job_id: self._seen[job_id] for job_id in job_ids}

    def find(self, job: Job) -> str | None:
        queued = rows(ask("squeue", "--me", "-h", "-t", "all", f"--name={job.name}", "-o", "%i"))
        if queued:
            return queued[0][0]
        try:
            ended = rows(ask("sacct", "-X", "-n", "-P", "-S", "now-7days", f"--name={job.name}", "-o", "JobIDRaw"))
        except DoubtError:  # a cluster without accounting: squeue's answer is all there is
            return None
        return ended[0][0] if ended else None

    def cancel(self, job_ids: Sequence[str], *, force: bool = False) -> None:
        # scancel escalates from TERM to KILL by itself, after the cluster's KillWait
        ask("scancel", *(("--signal=KILL", "--full") if force else ()), *job_ids)

    def report(self) -> ClusterReport:
        return slurm_report.report()

    def script(self, job: Job) -> str:
        return str(self._executor(job)._make_submission_file_text(self._command(job), ""))

    def _command(self, job: Job) -> str:
        return f"{self._python} -P -u -m trainers {shlex.quote(str(job.folder.path))} --attempt {job.attempt}"

    def _executor(self, job: Job) -> _Executor:
        need, log = job.spec.resources, str(job.folder.log)
        assert isinstance(need, SlurmResources), need
        executor = _Executor(folder=job.folder.submission)
        executor.update_parameters(
            **_asked(need),
            job_name=job.name,
            comment=job.name,
            signal_delay_s=warning_s(need.minutes),
            setup=self._setup or None,
            stderr_to_stdout=True,
            wckey=None,  # submitit's default is refused where wckeys are enforced
            # the scheduler submits again, the node never does
            additional_parameters={"output": log, "no-requeue": True},
            # later options win: all ranks into one log, each line with its rank; one rank's end ends all
            srun_args=[
                f"--output={log}",
                "--open-mode=append",
                "--label",
                f"--kill-on-bad-exit={int(not job.spec.rule.survives_workers)}",
                f"--cpus-per-task={need.cpus_per_rank}",  # srun does not take it over from sbatch
            ],
        )
        return executor

    def _look(self) -> None:
        """Ask squeue for all jobs of this user, unless the last answer still serves, or its failure."""
        if time.monotonic() > self._seen_until:
            try:
                self._look_again()
                self._doubt, self._seen_until = None, time.monotonic() + FRESH_S
            except DoubtError as doubt:
                self._doubt, self._seen_until = doubt, time.monotonic() + DOUBT_S
        if self._doubt:
            raise self._doubt

    def _look_again(self) -> None:
        listed = rows(ask("squeue", "--me", "-h", "-t", "all", "-o", "%i|%T|%r"))
        answers = {job_id: answer_for(state, reason) for job_id, state, reason in listed}
        self._seen = {job_id: answer or Unknown("a state of no known name") for job_id, answer in answers.items()}


def _must_stay(name: str) -> bool:
    """Whether a variable of ours may not reach sbatch: secrets, and what would overrule the script."""
    return name.startswith((OURS, "SBATCH_", "SLURM_", "SRUN_")) and name != "SLURM_CONF"


def _asked(need: SlurmResources) -> dict[str, object]:
    """The resources in submitit's words."""
    return {
        "partition": need.partition,
        "nodes": need.nodes,
        "ntasks_per_node": need.ranks_per_node,
        "cpus_per_task": need.cpus_per_rank,
        "gres": need.gres,
        "constraint": need.constraint,
        "time": need.minutes,
        "mem": f"{need.memory_gb}GB" if need.memory_gb else None,
        "account": need.account,
        "qos": need.qos,
    }


def _long_gone(job_ids: Sequence[str]) -> dict[str, Answer]:
    """Ask the accounting for jobs that squeue has forgotten; where there is none, the controller."""
    if not job_ids:
        return {}
    try:
        listed = rows(ask("sacct", "-X", "-n", "-P", "-j", ",".join(job_ids), "-o", "JobIDRaw,State,ExitCode"))
    except DoubtError:
        return {job_id: _ask_controller(job_id) for job_id in job_ids}
    told = {job_id: answer_for(state, "" if code == "0:0" else f"exit code {code}") for job_id, state, code in listed}
    return {job_id: told.get(job_id) or _ask_controller(job_id) for job_id in job_ids}


def _ask_controller(job_id: str) -> Answer:
    try:
        ask("scontrol", "-o", "show", "job", job_id)
    except DoubtError as doubt:
        # the one answer that says for certain that there is no such job any more
        return Gone("the job has left Slurm") if "Invalid job id" in str(doubt) else Unknown(str(doubt))
    return Unknown("squeue does not list the job, the controller knows it")
