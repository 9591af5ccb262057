"""The configuration of a Slurm that the service can use, and the status of jobs by their ids."""

from contract.lifecycle.pending_reason import Pending, PendingReason
from scheduler.clusters.cluster import Alive, JobHandle, JobStatus
from scheduler.clusters.slurm.cluster import Slurm

GOOD = {
    "SLURM_VERSION": "22.05.8",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "MinJobAge": "300 sec",
    "MaxArraySize": "1001",
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "KillWait": "30 sec",
    "SelectType": "select/cons_tres",
    "ProctrackType": "proctrack/cgroup",
}
PARTITION = {"PartitionName": "gpu", "State": "UP", "MaxTime": "1-00:00:00", "GraceTime": "0", "PreemptMode": "REQUEUE"}
# its jobs preempt those of PARTITION
URGENT = PARTITION | {"PartitionName": "urgent", "PriorityTier": "10", "PreemptMode": "OFF"}
MINE = "bigbatch-cafe-1"
RUNNING = Alive(Pending(PendingReason.STARTING, "RUNNING"))


def status_of(*job_ids: str) -> list[JobStatus]:
    """Return the status of the jobs with these ids and the name MINE."""
    status = Slurm().status([JobHandle(job_id, MINE) for job_id in job_ids])
    return [status[JobHandle(job_id, MINE)] for job_id in job_ids]
