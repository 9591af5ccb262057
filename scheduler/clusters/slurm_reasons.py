"""Why Slurm does not start a job: its words for it, each of a kind, with a sentence for people."""

import re

from contract.waits import Waits

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
    "SUSPENDED": (Waits.HELD, "it was suspended and keeps its place"),
    "JobHoldMaxRequeue": (Waits.HELD, "it was requeued too often and put on hold"),
    "JobArrayTaskLimit": (Waits.QUOTA, "as many runs of its experiment run as max_parallel admits"),
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
    "BadConstraints": (Waits.OTHER, "no node has what its constraint asks for"),
    "FrontEndDown": (Waits.RESOURCES, "no front end is there to run it"),
    "InvalidAccount": (Waits.QUOTA, "its account is not valid"),
    "InvalidQOS": (Waits.QUOTA, "its QOS is not valid"),
    "AccountNotAllowed": (Waits.QUOTA, "its account may not use the partition"),
    "QOSNotAllowed": (Waits.QUOTA, "its QOS may not be used with the account or partition"),
    "launch_failed_requeued_held": (Waits.HELD, "its launch failed, and it was put on hold"),
    "job_requeued_in_held_state": (Waits.HELD, "it was requeued and put on hold"),
}
# AssocGrpCPUMinutesLimit, QOSMaxJobsPerUserLimit, MaxMemPerLimit, AssociationJobLimit...
LIMIT = re.compile(r"^(Assoc|QOS|Max|Grp|Resv).*|.*Limit$")


def classify(reason: str) -> tuple[str, Waits]:
    """One sentence and the kind of a reason; Slurm's own word stands in brackets, for whoever wants to look it up."""
    word = re.split(r"[,\s(]", reason.strip("()"))[0]
    if word in SENTENCES:
        kind, sentence = SENTENCES[word]
        return f"{sentence} ({reason})", kind
    if "eserv" in reason:
        return f"it waits for a reservation ({reason})", Waits.RESERVATION
    if word.lower().endswith(("held", "hold")):
        return f"it is on hold ({reason})", Waits.HELD
    if LIMIT.match(word):
        return f"a limit of its account or QOS is reached ({reason})", Waits.QUOTA
    return f"Slurm says: {reason}", Waits.OTHER
