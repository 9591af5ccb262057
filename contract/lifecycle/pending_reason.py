"""Why a job that its cluster has does not train: the cluster has not started or has suspended it, or it starts."""

from enum import StrEnum
from typing import NamedTuple


class PendingKind(StrEnum):
    """Kinds of pending reasons, as far as they differ in what a user can do about them.

    resources: other jobs must end first. quota: the user's own jobs must end first, or the user needs a higher limit.
    held: a person must release the job. dependency: another job, or a point in time, comes first. reservation: the
    nodes are reserved. other: none of these.
    """

    RESOURCES = "resources"
    QUOTA = "quota"
    HELD = "held"
    DEPENDENCY = "dependency"
    RESERVATION = "reservation"
    OTHER = "other"


class PendingReason(StrEnum):
    """The reasons. `KIND_OF` gives the kind of each, api/sentences/pending.py the sentence."""

    ACCOUNT_INVALID = "account_invalid"
    ACCOUNT_NOT_ALLOWED = "account_not_allowed"
    ACCOUNTING_LIMIT = "accounting_limit"
    ARRAY_TASK_LIMIT = "array_task_limit"
    BEGIN_TIME = "begin_time"
    CLEANING = "cleaning"
    CONFIGURING = "configuring"
    CONSTRAINT = "constraint"
    DEADLINE = "deadline"
    DEPENDENCY = "dependency"
    DEPENDENCY_NEVER_SATISFIED = "dependency_never_satisfied"
    FRONT_END_DOWN = "front_end_down"
    HELD = "held"
    HELD_BY_ADMIN = "held_by_admin"
    HELD_BY_USER = "held_by_user"
    HELD_AFTER_LAUNCH_FAILURE = "held_after_launch_failure"
    HELD_AFTER_REQUEUE = "held_after_requeue"
    HELD_AFTER_RESERVATION = "held_after_reservation"
    HELD_AFTER_SPECIAL_EXIT = "held_after_special_exit"
    HELD_AFTER_TOO_MANY_REQUEUES = "held_after_too_many_requeues"
    HOSTS_UNKNOWN = "hosts_unknown"  # the job has ended, and the service waits to learn which of its hosts failed
    LICENSES = "licenses"
    MAINTENANCE = "maintenance"
    MEMORY_LIMIT = "memory_limit"
    MINIMUM_OF_QOS = "minimum_of_qos"
    NODE_DOWN = "node_down"
    NODE_MAYBE_RESERVED = "node_maybe_reserved"
    NODE_NOT_AVAILABLE = "node_not_available"
    NODES_DOWN = "nodes_down"
    NODES_POWER_UP = "nodes_power_up"
    PARTITION_CONFIG = "partition_config"
    PARTITION_DOWN = "partition_down"
    PARTITION_INACTIVE = "partition_inactive"
    PARTITION_NODE_LIMIT = "partition_node_limit"
    PARTITION_TIME_LIMIT = "partition_time_limit"
    PER_JOB_LIMIT = "per_job_limit"
    PRIORITY = "priority"
    PROLOG = "prolog"
    QOS_INVALID = "qos_invalid"
    QOS_NOT_ALLOWED = "qos_not_allowed"
    QOS_USAGE = "qos_usage"
    REQUEUED = "requeued"
    REQUEUED_EXPEDITED = "requeued_expedited"
    REQUEUED_FEDERATION = "requeued_federation"
    RESERVATION = "reservation"
    RESERVATION_DELETED = "reservation_deleted"
    RESIZING = "resizing"
    RESOURCES = "resources"
    SCHED_DEFER = "sched_defer"
    STAGE_OUT = "stage_out"
    STARTING = "starting"  # the job runs, and its run has not reported yet
    STOPPED = "stopped"
    SUSPENDED = "suspended"
    TIME_LIMIT = "time_limit"
    WAITING_FOR_SCHEDULING = "waiting_for_scheduling"
    OTHER = "other"  # `detail` has the cluster's own word


class Pending(NamedTuple):
    """One pending reason of one job, with the cluster's own word for it."""

    reason: PendingReason
    detail: str | None = None


def _kinds() -> dict[PendingReason, PendingKind]:
    one = PendingReason
    by_kind = {
        PendingKind.DEPENDENCY: (one.BEGIN_TIME, one.DEPENDENCY, one.DEPENDENCY_NEVER_SATISFIED),
        PendingKind.HELD: (
            *(one.HELD, one.HELD_BY_ADMIN, one.HELD_BY_USER, one.HELD_AFTER_LAUNCH_FAILURE, one.HELD_AFTER_REQUEUE),
            *(one.HELD_AFTER_RESERVATION, one.HELD_AFTER_SPECIAL_EXIT, one.HELD_AFTER_TOO_MANY_REQUEUES),
            *(one.STOPPED, one.SUSPENDED),
        ),
        PendingKind.OTHER: (
            one.CONSTRAINT,
            one.DEADLINE,
            one.HOSTS_UNKNOWN,
            one.REQUEUED,
            one.REQUEUED_EXPEDITED,
            one.REQUEUED_FEDERATION,
            one.RESIZING,
            one.SCHED_DEFER,
            one.STAGE_OUT,
            one.STARTING,
            one.WAITING_FOR_SCHEDULING,
            one.OTHER,
        ),
        PendingKind.QUOTA: (
            *(one.ACCOUNT_INVALID, one.ACCOUNT_NOT_ALLOWED, one.ACCOUNTING_LIMIT, one.ARRAY_TASK_LIMIT),
            *(one.MEMORY_LIMIT, one.MINIMUM_OF_QOS, one.PARTITION_CONFIG, one.PARTITION_NODE_LIMIT),
            *(one.PARTITION_TIME_LIMIT, one.PER_JOB_LIMIT, one.QOS_INVALID, one.QOS_NOT_ALLOWED, one.QOS_USAGE),
            one.TIME_LIMIT,
        ),
        PendingKind.RESERVATION: (
            *(one.MAINTENANCE, one.NODE_MAYBE_RESERVED, one.RESERVATION, one.RESERVATION_DELETED),
        ),
        PendingKind.RESOURCES: (
            *(one.CLEANING, one.CONFIGURING, one.FRONT_END_DOWN, one.LICENSES, one.NODE_DOWN, one.NODE_NOT_AVAILABLE),
            *(one.NODES_DOWN, one.NODES_POWER_UP, one.PARTITION_DOWN, one.PARTITION_INACTIVE, one.PRIORITY),
            *(one.PROLOG, one.RESOURCES),
        ),
    }
    return {reason: kind for kind, reasons in by_kind.items() for reason in reasons}


KIND_OF = _kinds()
