"""Slurm's words for why a job is pending, each with its PendingReason."""

import re

from contract.lifecycle.pending_reason import Pending, PendingReason

REASONS = {
    "AccountingPolicy": PendingReason.ACCOUNTING_LIMIT,
    "AccountNotAllowed": PendingReason.ACCOUNT_NOT_ALLOWED,
    "BadConstraints": PendingReason.CONSTRAINT,
    "BeginTime": PendingReason.BEGIN_TIME,
    "Cleaning": PendingReason.CLEANING,
    "DeadLine": PendingReason.DEADLINE,
    "Dependency": PendingReason.DEPENDENCY,
    "DependencyNeverSatisfied": PendingReason.DEPENDENCY_NEVER_SATISFIED,
    "FrontEndDown": PendingReason.FRONT_END_DOWN,
    "InvalidAccount": PendingReason.ACCOUNT_INVALID,
    "InvalidQOS": PendingReason.QOS_INVALID,
    "JobArrayTaskLimit": PendingReason.ARRAY_TASK_LIMIT,
    "JobHeldAdmin": PendingReason.HELD_BY_ADMIN,
    "JobHeldUser": PendingReason.HELD_BY_USER,
    "JobHoldMaxRequeue": PendingReason.HELD_AFTER_TOO_MANY_REQUEUES,
    "job_requeued_in_held_state": PendingReason.HELD_AFTER_REQUEUE,
    "launch_failed_requeued_held": PendingReason.HELD_AFTER_LAUNCH_FAILURE,
    "Licenses": PendingReason.LICENSES,
    "MaxMemPerLimit": PendingReason.MEMORY_LIMIT,
    "May_be_reserved_for_other_job": PendingReason.NODE_MAYBE_RESERVED,
    "NodeDown": PendingReason.NODE_DOWN,
    "Nodes_required_for_job_are_DOWN": PendingReason.NODES_DOWN,
    "PartitionConfig": PendingReason.PARTITION_CONFIG,
    "PartitionDown": PendingReason.PARTITION_DOWN,
    "PartitionInactive": PendingReason.PARTITION_INACTIVE,
    "PartitionNodeLimit": PendingReason.PARTITION_NODE_LIMIT,
    "PartitionTimeLimit": PendingReason.PARTITION_TIME_LIMIT,
    "Priority": PendingReason.PRIORITY,
    "Prolog": PendingReason.PROLOG,
    "QOSNotAllowed": PendingReason.QOS_NOT_ALLOWED,
    "QOSUsageThreshold": PendingReason.QOS_USAGE,
    "ReqNodeNotAvail": PendingReason.NODE_NOT_AVAILABLE,
    "Reservation": PendingReason.RESERVATION,
    "ReservationDeleted": PendingReason.RESERVATION_DELETED,
    "Reserved_for_maintenance": PendingReason.MAINTENANCE,
    "Resources": PendingReason.RESOURCES,
    "SchedDefer": PendingReason.SCHED_DEFER,
    "TimeLimit": PendingReason.TIME_LIMIT,
    "WaitingForScheduling": PendingReason.WAITING_FOR_SCHEDULING,
}
# AssocMaxCpuPerJobLimit, QOSMaxWallDurationPerJobLimit, QOSMaxCpuPerNode...
PER_JOB_LIMIT = re.compile(r"(Assoc|QOS)Max.*Per(Job|Node)(Limit)?")
# AssocGrpCPUMinutesLimit, QOSMaxJobsPerUserLimit, AssociationJobLimit...
ACCOUNTING_LIMIT = re.compile(r"(Assoc|QOS|Max|Grp|Resv).*|.*Limit")


def classify_pending_reason(text: str) -> Pending:
    """Return the reason that Slurm's text means, with the text without its parentheses as the detail."""
    text = text.removeprefix("(").removesuffix(")") if text.startswith("(") else text
    word, *more = [part.strip("_) ") for part in re.split(r"[,(]", text.replace(" ", "_"))]
    # of "ReqNodeNotAvail, Reserved for maintenance" the second word is the more exact one
    known = next((REASONS[part] for part in [*more, word] if part in REASONS), None)
    return Pending(known or _match_pattern(word, text), text)


def _match_pattern(word: str, text: str) -> PendingReason:
    if PER_JOB_LIMIT.fullmatch(word):
        return PendingReason.PER_JOB_LIMIT
    if word.startswith("QOSMin"):
        return PendingReason.MINIMUM_OF_QOS
    if "eserv" in text:  # "Reserved", "reservation"
        return PendingReason.RESERVATION
    if word.lower().endswith(("held", "hold")):
        return PendingReason.HELD
    return PendingReason.ACCOUNTING_LIMIT if ACCOUNTING_LIMIT.fullmatch(word) else PendingReason.OTHER
