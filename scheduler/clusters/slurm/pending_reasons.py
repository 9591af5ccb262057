"""Why Slurm does not start a job: its words for it, each of a kind, with a sentence for people."""

import re

from contract.lifecycle.pending_reason import Waits

SENTENCES = {
    "Resources": (Waits.RESOURCES, "it waits for nodes to become free"),
    "Priority": (Waits.RESOURCES, "jobs of a higher priority come first"),
    "Prolog": (Waits.RESOURCES, "the nodes' prolog is still running"),
    "Cleaning": (Waits.RESOURCES, "Slurm is cleaning up after the job's last start"),
    "BeginTime": (Waits.DEPENDENCY, "it may not begin before a set time, as after a requeue"),
    "Dependency": (Waits.DEPENDENCY, "it waits for another job"),
    "DependencyNeverSatisfied": (Waits.DEPENDENCY, "the job that it waits for can never fulfil the dependency"),
    "Licenses": (Waits.RESOURCES, "it waits for a license"),
    "JobHeldUser": (Waits.HELD, "it was put on hold by its user: scontrol release"),
    "JobHeldAdmin": (Waits.HELD, "it was put on hold by an administrator"),
    "JobHoldMaxRequeue": (Waits.HELD, "it was requeued too often and put on hold"),
    "JobArrayTaskLimit": (Waits.QUOTA, "as many runs of its experiment run as max_parallel admits"),
    "SchedDefer": (Waits.OTHER, "it asked to start at once, which this Slurm does not do"),
    "WaitingForScheduling": (Waits.OTHER, "Slurm has not looked at it yet"),
    "DeadLine": (Waits.OTHER, "it could not end before its deadline"),
    "PartitionConfig": (Waits.QUOTA, "its partition, as it is set up, does not admit what it asks for"),
    "AccountingPolicy": (Waits.QUOTA, "a limit of its account or QOS is reached"),
    "QOSUsageThreshold": (Waits.QUOTA, "its account has used too much for what its QOS demands"),
    "MaxMemPerLimit": (Waits.QUOTA, "it asks for more memory per core or node than a job may have"),
    "ReqNodeNotAvail": (Waits.RESOURCES, "a node that it needs is down, drained or reserved"),
    "Nodes_required_for_job_are_DOWN": (Waits.RESOURCES, "the nodes that it needs are down, drained or reserved"),
    "NodeDown": (Waits.RESOURCES, "a node that it needs is down"),
    "PartitionDown": (Waits.RESOURCES, "its partition is down"),
    "PartitionInactive": (Waits.RESOURCES, "its partition takes no jobs now"),
    "PartitionNodeLimit": (Waits.QUOTA, "it wants more nodes than its partition gives a job"),
    "PartitionTimeLimit": (Waits.QUOTA, "its time limit is above its partition's"),
    "TimeLimit": (Waits.QUOTA, "its time limit is above what it may have"),
    "Reservation": (Waits.RESERVATION, "it waits for its reservation to begin"),
    "ReservationDeleted": (Waits.RESERVATION, "its reservation was deleted"),
    "Reserved_for_maintenance": (Waits.RESERVATION, "the nodes are reserved for maintenance"),
    "May_be_reserved_for_other_job": (Waits.RESERVATION, "a node that it needs may be reserved for another job"),
    "BadConstraints": (Waits.OTHER, "no node has what its constraint asks for"),
    "FrontEndDown": (Waits.RESOURCES, "no front end is there to run it"),
    "InvalidAccount": (Waits.QUOTA, "its account is not valid"),
    "InvalidQOS": (Waits.QUOTA, "its QOS is not valid"),
    "AccountNotAllowed": (Waits.QUOTA, "its account may not use the partition"),
    "QOSNotAllowed": (Waits.QUOTA, "its QOS may not be used with the account or partition"),
    "launch_failed_requeued_held": (Waits.HELD, "its launch failed, and it was put on hold"),
    "job_requeued_in_held_state": (Waits.HELD, "it was requeued and put on hold"),
}
# AssocMaxCpuPerJobLimit, QOSMaxWallDurationPerJobLimit, QOSMaxCpuPerNode...: to wait does not help
TOO_MUCH = re.compile(r"^(Assoc|QOS)Max.*Per(Job|Node)(Limit)?$")
TOO_LITTLE = re.compile(r"^QOSMin.*")
# AssocGrpCPUMinutesLimit, QOSMaxJobsPerUserLimit, MaxMemPerLimit, AssociationJobLimit...
LIMIT = re.compile(r"^(Assoc|QOS|Max|Grp|Resv).*|.*Limit$")


def classify(reason: str) -> tuple[str, Waits]:
    """One sentence and the kind of a reason; Slurm's own word stands in brackets, for whoever wants to look it up."""
    reason = reason.removeprefix("(").removesuffix(")") if reason.startswith("(") else reason
    word, *more = [part.strip("_) ") for part in re.split(r"[,(]", reason.replace(" ", "_"))]
    # "ReqNodeNotAvail, Reserved for maintenance": the second says more
    if said := next((SENTENCES[part] for part in [*more, word] if part in SENTENCES), None):
        return f"{said[1]} ({reason})", said[0]
    if TOO_MUCH.match(word):
        return (
            f"it asks for more than its account or QOS gives one job, so waiting does not help ({reason})",
            Waits.QUOTA,
        )
    if TOO_LITTLE.match(word):
        return f"it asks for less than its QOS demands ({reason})", Waits.QUOTA
    if "eserv" in reason:
        return f"it waits for a reservation ({reason})", Waits.RESERVATION
    if word.lower().endswith(("held", "hold")):
        return f"it is on hold ({reason})", Waits.HELD
    if LIMIT.match(word):
        return f"a limit of its account or QOS is reached ({reason})", Waits.QUOTA
    return f"Slurm says: {reason}", Waits.OTHER
