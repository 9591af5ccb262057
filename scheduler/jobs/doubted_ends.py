"""Ends that Slurm lists and that are not what they seem: what a run's folder and the state of the hosts show of them.

Seen with Slurm 22.05.8: a controller's crash, a host's failing prolog and scancel of a job all look like scancel.
"""

from datetime import timedelta

from contract.api.cluster_report import ClusterReport
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import CAUSE_OF, EndKind, JobEnd
from scheduler.clusters.cluster import Gone, gone
from scheduler.outcome.excluded_hosts import hosts_out_of_service
from store.job_status import Observation, PolledJob

START_SKEW_S = 2.0  # by so much the clocks of Slurm's controller and of the file server may differ
AT_ONCE = timedelta(seconds=1)  # Slurm states moments in whole seconds


def correct_end(folder: RunFolder, job: PolledJob, listed: Gone) -> Gone:
    """Return the end that the run's folder allows; one that is not certain counts only while the job is silent."""
    if _is_start_lost(folder, job, listed):
        return gone(EndKind.START_LOST, is_certain=False)
    if _is_refused_at_once(folder, job, listed):
        refused = listed.end.model_copy(update={"kind": EndKind.LAUNCH_FAILED, "detail": None})
        return listed._replace(end=refused, cause=CAUSE_OF[EndKind.LAUNCH_FAILED])
    is_missing = listed.end.kind is EndKind.CANCELLED and not listed.is_certain
    # a task that its array no longer has was cancelled while it was pending, unless it has begun
    return gone(EndKind.UNLISTED, is_certain=False) if is_missing and folder.begun_at(job.attempt) else listed


def _is_start_lost(folder: RunFolder, job: PolledJob, listed: Gone) -> bool:
    """Return whether a job is listed as cancelled or failed, because a controller's crash lost its start.

    The new controller has the job as pending. The end that its host then reports makes the job cancelled (slurmctld's
    job_complete of a pending job), or the job is started a second time: its host refuses that, since it runs the job
    already (cancelled by root), or has killed what it should not run (failed with 1, "Job credential revoked"). In all
    cases the job had begun before the start that the controller states. Ranks that scancel ends say so, and a job that
    was requeued notes its second start.
    """
    if listed.started_at is None or job.stop_requested_at or job.reported_cause:
        return False
    begun_at = folder.begun_at(job.attempt)
    is_before = begun_at is not None and begun_at + START_SKEW_S < listed.started_at.timestamp()
    return is_before and not folder.has_started_again(job.attempt)


def _is_refused_at_once(folder: RunFolder, job: PolledJob, listed: Gone) -> bool:
    """Return whether a job was cancelled in the second of its start, before its script began: its host refused it.

    After a crash a controller gives ids anew. A host that still runs the forgotten job of that id refuses the new one
    ("already running, do not launch second copy"), and is drained; it may be in service again before it is asked for.
    A person who cancels a job in this second sees a next attempt; the other error would end a run that nobody ended.
    """
    started_at, ended_at = listed.started_at, listed.end.at
    if started_at is None or ended_at is None or not may_be_refused(folder, job, listed):
        return False
    return abs(ended_at - started_at) <= AT_ONCE


def may_be_refused(folder: RunFolder, job: PolledJob, end: Gone) -> bool:
    """Return whether a host may have refused the job, as by a failing prolog: its script never began.

    slurmd then asks for a requeue. A job that must not be requeued is cancelled by root, and the host is drained.
    """
    is_cancelled = end.end.kind is EndKind.CANCELLED and end.hosts
    return bool(is_cancelled) and not job.stop_requested_at and folder.begun_at(job.attempt) is None


def blame_host(end: Observation, report: ClusterReport) -> Observation:
    """Return the end of a job that never began: its host's fault, if that host has been taken out of service."""
    if end.observed_end is None or not set(end.hosts) & hosts_out_of_service(report):
        return end
    refused = JobEnd(kind=EndKind.LAUNCH_FAILED, at=end.observed_end.at)
    return end._replace(observed_end=refused, observed_cause=ExitCause.NODE_FAILURE)
