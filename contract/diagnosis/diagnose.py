"""Why an attempt failed: ranks' notes, the log and the cluster's word put together, the nearest to the cause first."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from contract.diagnosis.log_patterns import Word, first_word
from contract.folder.rank_failure import Fall, Roll
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import Failure, FailureKind, FallView
from contract.spec.retry import Cause

LOG_BYTES = 256_000  # of the end of an attempt's log
EVIDENCE = 1500  # characters
TOLD = {  # what a cluster knows better than anybody inside the job
    Cause.NODE_FAILURE: FailureKind.NODE_FAILURE,
    Cause.OUT_OF_MEMORY: FailureKind.OUT_OF_MEMORY,
    Cause.TIME_LIMIT: FailureKind.TIME_LIMIT,
}
NO_FAILURE = (Cause.DONE, Cause.CANCELLED, Cause.PREEMPTED)
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3")  # whose lines are seldom what has to be mended
OUTWARD = (FailureKind.COLLECTIVE_TIMEOUT, FailureKind.SIGNAL, FailureKind.UNKNOWN)  # what was seen, not why


class Ended(NamedTuple):
    """An attempt that has ended, as its cluster and the run's own last word had it."""

    number: int
    cause: Cause
    reason: str | None
    hosts: Sequence[str]
    cluster: str


def failure_of(folder: RunFolder, attempt: Ended, *, log_bytes: int = LOG_BYTES) -> Failure | None:
    """The first failure of an attempt; None when it did not fail."""
    if attempt.cause in NO_FAILURE:
        return None
    falls = folder.falls(attempt.number)
    first = next((fall for fall in falls if not fall.echo), None)
    said = _printed(folder, attempt, falls, log_bytes) if not first or first.kind in OUTWARD else None
    kind = _kind(first, said, TOLD.get(attempt.cause))
    rank, host = _who(first, said, _missed(falls))
    host = host or _host_of(rank, folder.roll(attempt.number), attempt)
    evidence, source = _evidence(first, said, attempt, kind)
    return Failure(
        attempt=attempt.number,
        kind=kind,
        rank=rank,
        host=host,
        at=_moment(first.at if first else falls[0].at) if falls else None,
        round=next((fall.round for fall in falls if fall.round is not None), None),
        reason=attempt.reason or _sentence(falls, said, rank, host),
        evidence=evidence[:EVIDENCE],
        source=source,
        falls=[_view(fall) for fall in falls],
    )


def _printed(folder: RunFolder, attempt: Ended, falls: Sequence[Fall], log_bytes: int) -> Word | None:
    """The log's word: of the rank that was missed rather than of one that was ended after it."""
    log, echoes = folder.log_part(attempt.number, log_bytes), {fall.rank for fall in falls if fall.echo}
    return first_word(log, missed=_missed(falls), echoes=echoes)


def _missed(falls: Sequence[Fall]) -> int | None:
    """The rank whose connections the others saw break, or who kept them waiting."""
    first = next((fall.rank for fall in falls if not fall.echo), None)
    return first if first is not None else next((fall.lost[0] for fall in falls if fall.lost), None)


def _kind(first: Fall | None, said: Word | None, told: FailureKind | None) -> FailureKind:
    if first and first.kind not in OUTWARD:
        return first.kind
    if told:
        return told
    seen = first.kind if first else FailureKind.UNKNOWN
    weightier = said is not None and said.kind in (FailureKind.OUT_OF_MEMORY, FailureKind.NODE_FAILURE)
    return said.kind if said and (weightier or seen is FailureKind.UNKNOWN) else seen


def _who(first: Fall | None, said: Word | None, missed: int | None) -> tuple[int | None, str | None]:
    """The first rank that failed, and where: by its own word, by its peers' or by the log's."""
    if first:
        return first.rank, first.host
    if said and (missed is None or missed == said.rank):
        return said.rank, said.host
    return missed, None


def _sentence(falls: Sequence[Fall], said: Word | None, rank: int | None, host: str | None) -> str:
    """What happened to whom, where no cluster gave a reason."""
    if falls and not falls[0].echo:
        return falls[0].reason
    if said and rank is not None and rank == said.rank:
        return f"rank {rank}{f' on {host}' if host else ''}: {said.bare}"
    if falls:
        return falls[0].reason
    return said.bare if said else "nobody said why"


def _host_of(rank: int | None, roll: Roll | None, attempt: Ended) -> str | None:
    if len(attempt.hosts) == 1:
        return attempt.hosts[0]
    return roll.hosts[rank] if roll and rank is not None and rank < len(roll.hosts) else None


def _evidence(first: Fall | None, said: Word | None, attempt: Ended, kind: FailureKind) -> tuple[str, str]:
    """The lines that show it, and who wrote them."""
    if said and (not first or said.kind is kind is not first.kind):
        return said.line, "its log"
    if first and first.kind is kind:
        if first.by is not None:
            return first.reason, f"rank {first.by}"
        return (_end_of(first.trace), f"rank {first.rank}") if first.trace else (first.reason, "the job")
    return attempt.reason or "", attempt.cluster


def _end_of(trace: str) -> str:
    """Where the error came from, and the error: the last frame of a traceback; before a library's, who called it."""
    lines = [line.removeprefix("  ") for line in trace.rstrip().splitlines()]
    frames = [number for number, line in enumerate(lines) if line.startswith('File "')]
    end = lines[frames[-1] if frames else -1 :]
    own = [place for place, number in enumerate(frames) if not any(mark in lines[number] for mark in LIBRARIES)]
    if not own or own[-1] == len(frames) - 1:
        return "\n".join(end)
    caller = lines[frames[own[-1]] : frames[own[-1] + 1]]
    between = ["..."] if own[-1] + 2 < len(frames) else []
    return "\n".join([*caller, *between, *end])


def _view(fall: Fall) -> FallView:
    return FallView(
        rank=fall.rank, host=fall.host, at=_moment(fall.at), kind=fall.kind, reason=fall.reason, echo=fall.echo
    )


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
