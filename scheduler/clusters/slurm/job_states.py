"""Slurm's job states: which are alive, and the kind of end that each of the others means.

Source: sacct(1) and squeue(1), "JOB STATE CODES", of versions 20.02 to 25.05.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.pending_reason import Pending, PendingReason
from scheduler.clusters.cluster import Alive, Gone, JobStatus, gone
from scheduler.clusters.slurm.job_ids import parse_hosts
from scheduler.clusters.slurm.pending_reasons import classify_pending_reason
from store.clock import now

PENDING = "PENDING"
END_STATES = {
    "BOOT_FAIL": EndKind.NODE_BOOT_FAILED,
    "CANCELLED": EndKind.CANCELLED,
    "COMPLETED": EndKind.COMPLETED,
    "DEADLINE": EndKind.DEADLINE,
    "FAILED": EndKind.FAILED,
    "LAUNCH_FAILED": EndKind.LAUNCH_FAILED,
    "NODE_FAIL": EndKind.NODE_FAILED,
    "OUT_OF_MEMORY": EndKind.OUT_OF_MEMORY,
    "PREEMPTED": EndKind.PREEMPTED,
    "RECONFIG_FAIL": EndKind.NODE_CONFIG_FAILED,
    "REVOKED": EndKind.REVOKED,
    "TIMEOUT": EndKind.TIME_LIMIT,
}
# the reason is None where the job makes progress; a job in the state PENDING has a reason of its own
ALIVE_STATES = {
    PENDING: None,
    "COMPLETING": None,
    "CONFIGURING": PendingReason.CONFIGURING,
    "EXPEDITING": PendingReason.REQUEUED_EXPEDITED,
    "POWER_UP_NODE": PendingReason.NODES_POWER_UP,
    "REQUEUED": PendingReason.REQUEUED,
    "REQUEUE_FED": PendingReason.REQUEUED_FEDERATION,
    "REQUEUE_HOLD": PendingReason.HELD_AFTER_REQUEUE,
    "RESIZING": PendingReason.RESIZING,
    "RESV_DEL_HOLD": PendingReason.HELD_AFTER_RESERVATION,
    "RUNNING": PendingReason.STARTING,  # until its run reports; the reason of a run that trains is not shown
    "SIGNALING": None,
    "SPECIAL_EXIT": PendingReason.HELD_AFTER_SPECIAL_EXIT,
    "STAGE_OUT": PendingReason.STAGE_OUT,
    "STOPPED": PendingReason.STOPPED,
    "SUSPENDED": PendingReason.SUSPENDED,
    "UPDATE_DB": None,
}
NO_DETAIL = ("None", "0:0")  # squeue's and sacct's words for no reason and no exit code


def translate_state(state: str, detail: str, hosts: str = "", start: str = "", end: str = "") -> JobStatus | None:
    """Return the status that one state means ("CANCELLED by 0" counts as CANCELLED); None for an unknown state.

    `detail`: squeue's reason, or sacct's exit code as "4:0". `hosts`: the job's nodes as Slurm writes them.
    `start` and `end`: when the job started and ended, in local time.
    """
    word = state.split()[0].rstrip("+") if state else ""
    detail = "" if detail in NO_DETAIL else detail
    if kind := END_STATES.get(word):
        return _ended(kind, detail, hosts, start, end)
    if word not in ALIVE_STATES:
        return None
    if word == PENDING:
        return Alive(classify_pending_reason(detail)) if detail else Alive()
    reason = ALIVE_STATES[word]
    return Alive(Pending(reason, word)) if reason else Alive()


def _ended(kind: EndKind, detail: str, hosts: str, start: str, end: str) -> Gone:
    exit_code = None
    if codes := re.fullmatch(r"(\d+):(\d+)", detail):  # exit code and signal: only one of them is meant
        detail = f"exit code {detail}"
        exit_code = int(codes[1]) if codes[2] == "0" else None
    ended = gone(kind, detail, exit_code=exit_code)
    if kind in (EndKind.CANCELLED, EndKind.FAILED):
        ended = ended._replace(started_at=_moment(start))
    ended = ended._replace(end=ended.end.model_copy(update={"at": _latest_moment(end)}))
    # a host that refuses a job makes Slurm cancel it (scheduler/jobs/doubted_ends.py)
    may_be_host = ended.cause is ExitCause.NODE_FAILURE or (kind is EndKind.CANCELLED and ended.started_at)
    return ended._replace(hosts=tuple(parse_hosts(hosts))) if may_be_host else ended


def _moment(text: str) -> datetime | None:
    """Return a moment of Slurm's output; None for N/A, Unknown and None: the job never started, or it is not known."""
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(text).astimezone(UTC)
    return None


def _latest_moment(text: str) -> datetime | None:
    """Return the moment of an end; of a local time that a change of clocks repeats, the later one that has been."""
    if (first := _moment(text)) is None:
        return None
    again = datetime.fromisoformat(text).replace(fold=1).astimezone(UTC)
    return again if first < again <= now() else first
