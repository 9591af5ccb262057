"""Diagnosis of a failed attempt, from the rank failures in its folder, its log and its cluster's answer."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from contract.diagnosis.log_patterns import LogLine, find_failure_line, find_last_output
from contract.folder.rank_failure import RankFailure, RankRoster
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import Failure, FailureKind, RankFailureView

LOG_BYTES = 256_000  # number of bytes read from the end of an attempt's log
EVIDENCE = 1500  # longest evidence in characters
CLUSTER_KINDS = {  # causes that a cluster knows better than the job's processes
    ExitCause.NODE_FAILURE: FailureKind.NODE_FAILURE,
    ExitCause.OUT_OF_MEMORY: FailureKind.OUT_OF_MEMORY,
    ExitCause.TIME_LIMIT: FailureKind.TIME_LIMIT,
}
NO_FAILURE = (ExitCause.DONE, ExitCause.CANCELLED, ExitCause.PREEMPTED, ExitCause.SHUTDOWN)
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")  # frames here are seldom the cause of an error
SYMPTOM_KINDS = (FailureKind.COLLECTIVE_TIMEOUT, FailureKind.SIGNAL, FailureKind.UNKNOWN)  # symptoms, not causes


class EndedAttempt(NamedTuple):
    """An attempt that has ended, with the scheduler's record of its end."""

    number: int
    cause: ExitCause
    reason: str | None
    hosts: Sequence[str]
    cluster: str
    paused: bool = False  # all ranks saved and left: neither their notes nor the log show a failure
    has_begun: bool = True  # a process had begun the attempt


def diagnose_failure(folder: RunFolder, attempt: EndedAttempt, *, log_bytes: int = LOG_BYTES) -> Failure | None:
    """Return the first failure of an attempt; None if the attempt did not fail."""
    if attempt.cause in NO_FAILURE:
        return None
    failures = [] if attempt.paused else folder.read_rank_failures(attempt.number)
    first = next((failure for failure in failures if not failure.echo), None)
    needs_log = not attempt.paused and (not first or first.kind in SYMPTOM_KINDS)
    log = folder.read_attempt_log(attempt.number, log_bytes) if needs_log else ""
    line = _find_line(log, failures) if needs_log else None
    kind = _kind(first, line, CLUSTER_KINDS.get(attempt.cause))
    rank, host = _first_rank(first, line, _missed_rank(failures))
    host = host or _host_of(rank, folder.read_roster(attempt.number), attempt)
    evidence, source = _evidence(first, line, attempt, kind)
    if first and kind is FailureKind.UNKNOWN and (output := find_last_output(log, rank)):
        evidence, source = output, "the end of the log"  # argparse's error, say, which no pattern knows
    return Failure(
        attempt=attempt.number,
        kind=kind,
        rank=rank,
        host=host,
        at=_to_datetime(first.at if first else failures[0].at) if failures else None,
        round=next((failure.round for failure in failures if failure.round is not None), None),
        reason=attempt.reason or _reason(failures, line, rank, host),
        evidence=evidence[:EVIDENCE],
        source=source,
        falls=[_view(failure) for failure in failures],
        has_begun=attempt.has_begun or bool(failures),
    )


def _find_line(log: str, failures: Sequence[RankFailure]) -> LogLine | None:
    """Return the log's failure line; prefer a line of the missed rank to lines of ranks that were ended later."""
    echoes = {one.rank for one in failures if one.echo}
    return find_failure_line(log, missed=_missed_rank(failures), echoes=echoes)


def _missed_rank(failures: Sequence[RankFailure]) -> int | None:
    """Return the rank whose connections broke, or which did not take part in a collective."""
    first = next((failure.rank for failure in failures if not failure.echo), None)
    return first if first is not None else next((failure.lost[0] for failure in failures if failure.lost), None)


def _kind(first: RankFailure | None, line: LogLine | None, from_cluster: FailureKind | None) -> FailureKind:
    if first and first.kind not in SYMPTOM_KINDS:
        return first.kind
    if from_cluster:
        return from_cluster
    recorded = first.kind if first else FailureKind.UNKNOWN
    is_cause = line is not None and line.kind in (FailureKind.OUT_OF_MEMORY, FailureKind.NODE_FAILURE)
    return line.kind if line and (is_cause or recorded is FailureKind.UNKNOWN) else recorded


def _first_rank(first: RankFailure | None, line: LogLine | None, missed: int | None) -> tuple[int | None, str | None]:
    """Return the first failed rank and its host, from the rank's record, the log or the peers' records."""
    if first:
        return first.rank, first.host
    if line and (missed is None or missed == line.rank):
        return line.rank, line.host
    return missed, None


def _reason(failures: Sequence[RankFailure], line: LogLine | None, rank: int | None, host: str | None) -> str:
    """Return the reason for an attempt whose cluster gave no reason."""
    if failures and not failures[0].echo:
        return failures[0].reason
    if line and rank is not None and rank == line.rank:
        return f"rank {rank}{f' on {host}' if host else ''}: {line.text}"
    if failures:
        return failures[0].reason
    return line.text if line else "no rank, log line or cluster gave a reason"


def _host_of(rank: int | None, roster: RankRoster | None, attempt: EndedAttempt) -> str | None:
    if len(attempt.hosts) == 1:
        return attempt.hosts[0]
    return roster.hosts[rank] if roster and rank is not None and rank < len(roster.hosts) else None


def _evidence(
    first: RankFailure | None, line: LogLine | None, attempt: EndedAttempt, kind: FailureKind
) -> tuple[str, str]:
    """Return the lines that show the failure, and their source."""
    if line and (not first or line.kind is kind is not first.kind):
        return line.line, "the log"
    if first and first.kind is kind:
        if first.by is not None:
            return first.reason, f"rank {first.by}"
        return (_error_of(first.trace), f"rank {first.rank}") if first.trace else (first.reason, "the job")
    return attempt.reason or "", attempt.cluster


def _error_of(trace: str) -> str:
    """Return a traceback's last frame and its error; for a library's frame, also the last frame outside libraries."""
    lines = [line.removeprefix("  ") for line in trace.rstrip().splitlines()]
    frames = [number for number, line in enumerate(lines) if line.startswith('File "')]
    end = lines[frames[-1] if frames else -1 :]
    own = [index for index, number in enumerate(frames) if not any(mark in lines[number] for mark in LIBRARIES)]
    if not own or own[-1] == len(frames) - 1:
        return "\n".join(end)
    caller = lines[frames[own[-1]] : frames[own[-1] + 1]]
    between = ["..."] if own[-1] + 2 < len(frames) else []
    return "\n".join([*caller, *between, *end])


def _view(failure: RankFailure) -> RankFailureView:
    return RankFailureView(
        rank=failure.rank,
        host=failure.host,
        at=_to_datetime(failure.at),
        kind=failure.kind,
        reason=failure.reason,
        echo=failure.echo,
    )


def _to_datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
