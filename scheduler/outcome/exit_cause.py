"""The exit cause of an attempt: its cluster's report and the run's own report, weighed against each other."""

from datetime import timedelta
from typing import Protocol

from contract.folder.events import Paused
from contract.folder.job_identity import LEFT_EXIT_CODES, time_limit_warning_s
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.job_end import EndKind
from contract.spec.any_run import read_run
from contract.spec.resources import Slurm
from scheduler.outcome.evidence import Claim, Evidence, left_by_itself
from scheduler.outcome.excluded_hosts import failed_hosts
from scheduler.outcome.facts import JobFacts, RunFacts
from scheduler.outcome.ran_for import reported_seconds

LINGER = timedelta(seconds=60)  # for so long a shared file system may not show what a node has written
IMPRECISE = (ExitCause.DONE, ExitCause.FAILURE, ExitCause.LOST)  # the run's own report is more precise
OF_OTHER_PARTS = (ExitCause.DONE, ExitCause.TIME_LIMIT, ExitCause.OUT_OF_MEMORY)  # for a part that never began
STARTUP = timedelta(minutes=5)  # from a job's start until its ranks have met and report that they started
# ranks that waited in vain for a rank on another host: the cluster may see later that the host has failed
SUSPECTED = ExitCause.NODE_FAILURE


class _Reporting(Protocol):
    @property
    def reported_cause(self) -> ExitCause | None: ...
    @property
    def pack_member(self) -> int | None: ...


def may_report_more(job: _Reporting, evidence: Evidence) -> bool:
    """Return whether ranks that left in good order may have reported why, in lines that are not visible yet."""
    if job.reported_cause or evidence.seen_for is None or evidence.seen_for >= LINGER:
        return False
    if evidence.gone.cause is not ExitCause.FAILURE:
        return evidence.gone.cause is ExitCause.DONE
    if job.pack_member is not None and evidence.part_status is not None:
        return evidence.part_status in LEFT_EXIT_CODES
    # for Slurm such an end is a failure; a visible failure is never older than the run's own last line
    return left_by_itself(evidence.gone) and not evidence.shows_failure


def exit_cause(run: RunFacts, evidence: Evidence) -> ExitCause:
    """Return the cluster's cause where that is precise, else the run's own."""
    job, cause = run.job, evidence.gone.cause
    if cause is ExitCause.FAILURE and evidence.has_started_again:
        return ExitCause.PREEMPTED  # the job was requeued; that it left at its second start is no failure
    if evidence.claim is Claim.ABANDONED:
        if cause is ExitCause.FAILURE:
            return ExitCause.LOST  # its submission was given up, so the job had to leave
        if job.pack_member is not None and cause in OF_OTHER_PARTS:
            return ExitCause.LOST
    # the run had reported its end, and the service ended the ranks that hung after it (scheduler/ticks/reap.py)
    was_reaped = cause is ExitCause.CANCELLED and job.stop_requested_at is not None and run.stop_requested_at is None
    if job.reported_cause and (was_reaped or cause in IMPRECISE):
        is_suspicion_wrong = job.reported_cause is SUSPECTED and not failed_hosts(job.hosts, evidence.report)
        return ExitCause.FAILURE if is_suspicion_wrong else job.reported_cause
    if evidence.gone.end.kind is EndKind.PROCESS_GONE and not evidence.shows_failure:
        return ExitCause.LOST  # killed from outside, as by the machine's restart: its exit status is not known
    return ExitCause.FAILURE if cause is ExitCause.DONE else cause


def reported_failure_cause(job: JobFacts, kind: FailureKind | None) -> ExitCause:
    """Return the cause that a run's own report of a failure stands for."""
    # a program reports only that a rank left with an error, perhaps because it lost the ranks of a host that failed
    if kind in (FailureKind.COLLECTIVE_TIMEOUT, FailureKind.UNKNOWN) and len(job.hosts) > 1:
        return SUSPECTED
    return ExitCause.OUT_OF_MEMORY if kind is FailureKind.OUT_OF_MEMORY else ExitCause.FAILURE


def reported_pause_cause(run: RunFacts, paused: Paused) -> ExitCause:
    """Return why a run paused: SIGUSR2 in a job that is about to reach its time limit is the warning of the limit.

    Some clusters warn of a preemption by the same signal.
    """
    need = read_run(run.spec).resources
    if paused.signal != "SIGUSR2" or not isinstance(need, Slurm):
        return ExitCause.PREEMPTED
    warned = timedelta(minutes=need.minutes, seconds=-time_limit_warning_s(need.minutes))
    trained_s = reported_seconds(run.job, paused)
    is_due = trained_s is None or timedelta(seconds=trained_s) + STARTUP >= warned
    return ExitCause.TIME_LIMIT if is_due else ExitCause.PREEMPTED
