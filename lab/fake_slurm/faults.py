"""Faults and operations on jobs and hosts: hold, requeue, preempt, host failure; call them in a transaction."""

import time

from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import ACTIVE, HELD, ON_HOSTS, PENDING, ClusterState, Job

REQUEUE_DELAY_S = 3.0  # Slurm waits until the old credential has expired


def hold(cluster: ClusterState, full_id: str, reason: str = HELD) -> None:
    """Hold a pending job until it is released."""
    job = _active_job(cluster, full_id)
    if job.state != PENDING:
        raise SlurmError("Job is no longer pending execution")
    cluster.update(job, reason=reason)


def release(cluster: ClusterState, full_id: str) -> None:
    """Release a held job."""
    hold(cluster, full_id, "Resources")


def requeue(cluster: ClusterState, full_id: str) -> None:
    """Take a job from its hosts and put it back into the queue with the same id."""
    _request_end(cluster, _active_job(cluster, full_id), "requeue")


def start_again(cluster: ClusterState, full_id: str) -> None:
    """Kill a job and start it anew without counting a restart, as a controller does that has lost its state."""
    _request_end(cluster, _active_job(cluster, full_id), "again")


def preempt(cluster: ClusterState, full_id: str) -> None:
    """Preempt a job, as a job of a higher partition does: SIGTERM, then SIGKILL."""
    _request_end(cluster, _active_job(cluster, full_id), "preempt")


def fail_host(cluster: ClusterState, name: str) -> None:
    """Take a host down with all its processes."""
    cluster.db.execute("UPDATE hosts SET down = 1 WHERE name = ?", (name,))
    for job in cluster.jobs("state IN (?, ?)", *ON_HOSTS):
        if name in job.hosts.split(","):
            _request_end(cluster, job, "fail")


def repair_hosts(cluster: ClusterState) -> None:
    """Bring all hosts back."""
    cluster.db.execute("UPDATE hosts SET down = 0")


def _request_end(cluster: ClusterState, job: Job, kind: str) -> None:
    cluster.update(job, state="COMPLETING", requested_end=kind, requested_at=time.time())


def _active_job(cluster: ClusterState, full_id: str) -> Job:
    found = next((job for job in cluster.jobs("state IN (?, ?, ?)", *ACTIVE) if job.full_id == full_id), None)
    if not found:
        raise SlurmError("Invalid job id specified")
    return found
