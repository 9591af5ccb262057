"""Evidence on the exit of a job: what its cluster, its ranks' notes, its log and its disk show.

Evidence is gathered outside any transaction, since it takes reads of a shared file system.
"""

import re
import shutil
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import NamedTuple

from contract.api.cluster_report import ClusterReport
from contract.diagnosis.diagnose import EndedAttempt, diagnose_failure
from contract.diagnosis.log_patterns import LogLine, find_failure_line
from contract.folder.job_identity import LEFT_EXIT_CODES, STOPPED_EXIT_CODES
from contract.folder.outputs.record import OutputsRecord
from contract.folder.run_folder import ABANDONED, RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import Gone
from store.runs import LiveRun

LOG_BYTES = 32_000  # of the end of a log: a hundred jobs may end at once
FULL_BYTES = 1 << 16  # a disk with less free space has no room for a rank's note
RETURNING = (ExitCause.LOST, ExitCause.NODE_FAILURE, ExitCause.PREEMPTED)  # such a job may start when its host is back
# sacct shows a script's 143 as 15:0, and its 130 as 2:0
_LEFT_BY_SLURM = (*LEFT_EXIT_CODES, *(code - 128 for code in STOPPED_EXIT_CODES))
_EXIT_CODE = re.compile(r"Exited with exit code (\d+)$")


class Claim(Enum):
    """Which job may carry the attempt out."""

    NONE = "none"  # no job has begun it
    ABANDONED = "abandoned"  # the service took the claim: no job may begin it
    HELD = "held"  # a job has begun it


class Evidence(NamedTuple):
    gone: Gone  # what the cluster reports
    seen_for: timedelta | None  # since the end was first observed elsewhere; None for a job on this machine
    claim: Claim
    has_started_again: bool = False  # the cluster started the job a second time, as after a requeue
    part_status: int | None = None  # exit status of the run's part of a packed job
    shows_failure: bool = False  # by a rank's note, the log, or a full disk
    rank_failure: str | None = None  # by the note of the first rank that failed
    rank_failure_kind: FailureKind | None = None
    failure: str | None = None  # by the log, or by the note of a rank that failed after another one
    free_bytes: int | None = None  # of the run folder's disk, where that is nearly full
    report: ClusterReport | None = None  # of the job's cluster
    folder_gone: bool = False  # the run's folder is not there any more
    damaged_end: bytes | None = None  # the last line of the run's events, if that is no event
    outputs: OutputsRecord | None = None  # of an attempt whose last line is damaged


def gather_evidence(
    folder: RunFolder,
    run: LiveRun,
    gone: Gone,
    hosts: Sequence[str],
    report: ClusterReport | None,
    seen_for: timedelta | None,
) -> Evidence:
    """Read the claim, the ranks' notes and the end of the log of an attempt whose job is gone."""
    notes = folder.read_rank_failures(run.attempt)
    first = notes[0] if notes else None
    failure = diagnose_failure(
        folder, EndedAttempt(run.attempt, gone.cause, None, hosts, run.cluster), log_bytes=LOG_BYTES
    )
    is_known = first or (failure and failure.evidence)
    free_bytes = read_free_bytes(folder)
    line = find_failure_line(folder.read_attempt_log(run.attempt, LOG_BYTES))
    return Evidence(
        gone,
        seen_for,
        claim=_claim(folder, run.attempt),
        has_started_again=folder.has_started_again(run.attempt),
        part_status=folder.read_part_exit(run.attempt) if run.pack_member is not None else None,
        shows_failure=bool(notes) or free_bytes is not None or not _is_pause(line),
        rank_failure=first.reason if first and not first.echo else None,
        rank_failure_kind=first.kind if first and not first.echo else None,
        failure=failure.reason if failure and is_known else first.reason if first else None,
        free_bytes=free_bytes,
        report=report,
    )


def abandon_if_unclaimed(folder: RunFolder, run: LiveRun, evidence: Evidence) -> Evidence:
    """Take the claim of an attempt that no process has begun, and return the evidence with the claim as it is then.

    So no process begins the attempt, should a host of the job return or a packed part start late.
    """
    may_start = run.pack_member is not None or evidence.gone.cause in RETURNING
    if may_start and folder.read_part_exit(run.attempt) is None and not folder.read_claim(run.attempt):
        folder.claim(run.attempt, ABANDONED)
        return evidence._replace(claim=_claim(folder, run.attempt))
    return evidence


def read_free_bytes(folder: RunFolder) -> int | None:
    """Return the free space of the folder's disk if that is too little for a rank's note, else None."""
    try:
        free = shutil.disk_usage(folder.path).free
    except OSError:
        return None
    return free if free < FULL_BYTES else None


def left_by_itself(gone: Gone) -> bool:
    """Return whether the job's script came to its end as after a pause or a request to end, as far as Slurm says."""
    end = gone.end
    return end.kind is EndKind.FAILED and (end.detail == "NonZeroExitCode" or end.exit_code in _LEFT_BY_SLURM)


def _claim(folder: RunFolder, attempt: int) -> Claim:
    holder = folder.read_claim(attempt)
    if holder is None:
        return Claim.NONE
    return Claim.ABANDONED if holder == ABANDONED else Claim.HELD


def _is_pause(line: LogLine | None) -> bool:
    """Return whether the log shows nothing but ranks that left as after a pause or a request to end."""
    if line is None:
        return True
    match = _EXIT_CODE.search(line.text)
    return match is not None and int(match[1]) in LEFT_EXIT_CODES
