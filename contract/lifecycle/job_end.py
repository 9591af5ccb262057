"""How a job ended, as its cluster reports it."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from contract.lifecycle.exit_cause import ExitCause


class EndKind(StrEnum):
    """The kinds of ends. `CAUSE_OF` gives the exit cause of each, api/sentences/job_end.py the sentence."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIME_LIMIT = "time_limit"
    DEADLINE = "deadline"
    PREEMPTED = "preempted"
    REQUEUED = "requeued"  # the cluster started the job a second time, and this start left at once
    NODE_FAILED = "node_failed"
    NODE_BOOT_FAILED = "node_boot_failed"
    NODE_CONFIG_FAILED = "node_config_failed"
    LAUNCH_FAILED = "launch_failed"
    OUT_OF_MEMORY = "out_of_memory"
    REVOKED = "revoked"  # it moved to another cluster of a federation
    UNLISTED = "unlisted"  # the cluster no longer lists the job
    ACCOUNTING_ONLY = "accounting_only"  # the accounting database has the job, cancelled by no known user
    START_LOST = "start_lost"  # the cluster lost the job's start, and calls the job cancelled
    EXITED = "exited"  # a local job's first process left with `exit_code`
    SIGNALED = "signaled"  # a signal ended a local job's first process: `detail`
    PROCESS_GONE = "process_gone"  # a local job's first process has ended, its exit status is unknown
    PART_EXITED = "part_exited"  # the run's part of a shared job left with `exit_code`
    OTHER = "other"  # of a database of an earlier version: `detail` is a whole sentence


CAUSE_OF = {
    EndKind.COMPLETED: ExitCause.DONE,
    EndKind.FAILED: ExitCause.FAILURE,
    EndKind.CANCELLED: ExitCause.CANCELLED,
    EndKind.TIME_LIMIT: ExitCause.TIME_LIMIT,
    EndKind.DEADLINE: ExitCause.CANCELLED,
    EndKind.PREEMPTED: ExitCause.PREEMPTED,
    EndKind.REQUEUED: ExitCause.PREEMPTED,
    EndKind.NODE_FAILED: ExitCause.NODE_FAILURE,
    EndKind.NODE_BOOT_FAILED: ExitCause.NODE_FAILURE,
    EndKind.NODE_CONFIG_FAILED: ExitCause.NODE_FAILURE,
    EndKind.LAUNCH_FAILED: ExitCause.NODE_FAILURE,
    EndKind.OUT_OF_MEMORY: ExitCause.OUT_OF_MEMORY,
    EndKind.REVOKED: ExitCause.CANCELLED,
    EndKind.UNLISTED: ExitCause.LOST,
    EndKind.ACCOUNTING_ONLY: ExitCause.LOST,
    EndKind.START_LOST: ExitCause.LOST,
    EndKind.EXITED: ExitCause.FAILURE,
    EndKind.SIGNALED: ExitCause.FAILURE,
    EndKind.PROCESS_GONE: ExitCause.FAILURE,
    EndKind.PART_EXITED: ExitCause.FAILURE,
    EndKind.OTHER: ExitCause.LOST,
}


class JobEnd(BaseModel):
    """One end of one job."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: EndKind
    detail: str | None = None  # the cluster's own word
    exit_code: int | None = None
    at: datetime | None = None  # when, where the cluster says so
