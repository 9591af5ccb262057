"""Sentences for the reasons why a cluster does not start a job."""

from contract.lifecycle.pending_reason import Pending, PendingReason

_SENTENCES = {
    PendingReason.ACCOUNT_INVALID: "the job's account is not valid",
    PendingReason.ACCOUNT_NOT_ALLOWED: "the job's account may not use the partition",
    PendingReason.ACCOUNTING_LIMIT: "a limit of the job's account or QOS is reached",
    PendingReason.ARRAY_TASK_LIMIT: "as many runs of the experiment are running as max_parallel allows",
    PendingReason.BEGIN_TIME: "the job may not begin before a set time, as after a requeue",
    PendingReason.CLEANING: "Slurm is cleaning up after the job's last start",
    PendingReason.CONFIGURING: "Slurm is preparing the job's nodes",
    PendingReason.CONSTRAINT: "no node has the features that the job's constraint asks for",
    PendingReason.DEADLINE: "the job could not end before its deadline",
    PendingReason.DEPENDENCY: "another job must end first",
    PendingReason.DEPENDENCY_NEVER_SATISFIED: "the job depends on another job that can never fulfil the dependency",
    PendingReason.FRONT_END_DOWN: "no front end is available to run the job",
    PendingReason.HELD: "the job is on hold",
    PendingReason.HELD_BY_ADMIN: "an administrator put the job on hold",
    PendingReason.HELD_BY_USER: "the job's user put the job on hold; release it with scontrol release",
    PendingReason.HELD_AFTER_LAUNCH_FAILURE: "the job's launch failed, and Slurm put the job on hold",
    PendingReason.HELD_AFTER_REQUEUE: "Slurm requeued the job and put it on hold",
    PendingReason.HELD_AFTER_RESERVATION: "Slurm put the job on hold because its reservation was deleted",
    PendingReason.HELD_AFTER_SPECIAL_EXIT: "Slurm put the job on hold after a special exit code",
    PendingReason.HELD_AFTER_TOO_MANY_REQUEUES: "Slurm requeued the job too often and put it on hold",
    PendingReason.HOSTS_UNKNOWN: "the job has ended, and the service is finding out which of its hosts failed",
    PendingReason.LICENSES: "the job waits for a license",
    PendingReason.MAINTENANCE: "the nodes are reserved for maintenance",
    PendingReason.MEMORY_LIMIT: "the job asks for more memory per core or node than a job may have",
    PendingReason.MINIMUM_OF_QOS: "the job asks for less than its QOS demands",
    PendingReason.NODE_DOWN: "a node that the job needs is down",
    PendingReason.NODE_MAYBE_RESERVED: "a node that the job needs may be reserved for another job",
    PendingReason.NODE_NOT_AVAILABLE: "a node that the job needs is down, drained or reserved",
    PendingReason.NODES_DOWN: "the nodes that the job needs are down, drained or reserved",
    PendingReason.NODES_POWER_UP: "Slurm is powering up the job's nodes",
    PendingReason.PARTITION_CONFIG: "the partition's configuration does not allow what the job asks for",
    PendingReason.PARTITION_DOWN: "the job's partition is down",
    PendingReason.PARTITION_INACTIVE: "the job's partition accepts no jobs now",
    PendingReason.PARTITION_NODE_LIMIT: "the job asks for more nodes than its partition gives one job",
    PendingReason.PARTITION_TIME_LIMIT: "the job's time limit is above its partition's",
    PendingReason.PER_JOB_LIMIT: "the job asks for more than its account or QOS gives one job: waiting does not help",
    PendingReason.PRIORITY: "jobs of a higher priority come first",
    PendingReason.PROLOG: "the nodes' prolog is still running",
    PendingReason.QOS_INVALID: "the job's QOS is not valid",
    PendingReason.QOS_NOT_ALLOWED: "the job's QOS may not be used with its account or partition",
    PendingReason.QOS_USAGE: "the job's account has used more than its QOS allows",
    PendingReason.REQUEUED: "the job goes back to the queue",
    PendingReason.REQUEUED_EXPEDITED: "the job goes back to the head of the queue",
    PendingReason.REQUEUED_FEDERATION: "the job goes back to the queue of a federation",
    PendingReason.RESERVATION: "the job waits for its reservation to begin",
    PendingReason.RESERVATION_DELETED: "the job's reservation was deleted",
    PendingReason.RESIZING: "the job is about to change its size",
    PendingReason.RESOURCES: "the job waits for nodes to become free",
    PendingReason.SCHED_DEFER: "the job asks to start at once, which this Slurm does not do",
    PendingReason.STAGE_OUT: "Slurm is moving the job's files out",
    PendingReason.STARTING: "the job has started, and its program loads its libraries",
    PendingReason.STOPPED: "the job is stopped and keeps its cores",
    PendingReason.SUSPENDED: "the job is suspended and keeps its nodes",
    PendingReason.TIME_LIMIT: "the job's time limit is above what it may have",
    PendingReason.WAITING_FOR_SCHEDULING: "Slurm has not considered the job yet",
}


def pending_sentence(pending: Pending) -> str:
    """Return one sentence without a full stop; the cluster's own word stands in parentheses."""
    if pending.reason is PendingReason.OTHER:
        return f"the cluster gives a reason of its own ({pending.detail})"
    sentence = _SENTENCES[pending.reason]
    return f"{sentence} ({pending.detail})" if pending.detail else sentence
