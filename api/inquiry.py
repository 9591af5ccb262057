"""Why an attempt failed: ranks' notes, the log and the cluster's word put together, the nearest to the cause first."""

from datetime import UTC, datetime

from api.printed import Word, first_word
from contract.failure import Failure, FailureKind, FallView
from contract.fall import Fall, Roll
from contract.folder import RunFolder
from contract.retries import Cause
from store.tables import Attempt

LOG_BYTES = 256_000  # of the end of an attempt's log
EVIDENCE = 1500  # characters
TOLD = {  # what a cluster knows better than anybody inside the job
    Cause.NODE_FAILURE: FailureKind.NODE_FAILURE,
    Cause.OUT_OF_MEMORY: FailureKind.OUT_OF_MEMORY,
    Cause.TIME_LIMIT: FailureKind.TIME_LIMIT,
}
NO_FAILURE = (Cause.DONE, Cause.CANCELLED, Cause.PREEMPTED)
OUTWARD = (FailureKind.COLLECTIVE_TIMEOUT, FailureKind.SIGNAL, FailureKind.UNKNOWN)  # what was seen, not why


def failure_of(folder: RunFolder, attempt: Attempt, *, cluster: str) -> Failure | None:
    """The first failure of an attempt that has ended; None when it did not fail."""
    cause = Cause(attempt.cause)
    if cause in NO_FAILURE:
        return None
    falls = folder.falls(attempt.number)
    first = next((fall for fall in falls if not fall.echo), None)
    said = first_word(folder.log_part(attempt.number, LOG_BYTES)) if not first or first.kind in OUTWARD else None
    kind = _kind(first, said, TOLD.get(cause))
    rank, host = _who(falls, first, said)
    evidence, source = _evidence(first, said, attempt, kind, cluster)
    return Failure(
        attempt=attempt.number,
        kind=kind,
        rank=rank,
        host=host or _host_of(rank, folder.roll(attempt.number), attempt),
        at=_moment(first.at if first else falls[0].at) if falls else None,
        round=next((fall.round for fall in falls if fall.round is not None), None),
        reason=attempt.reason or (first.reason if first else "nobody said why"),
        evidence=evidence[:EVIDENCE],
        source=source,
        falls=[_view(fall) for fall in falls],
    )


def _kind(first: Fall | None, said: Word | None, told: FailureKind | None) -> FailureKind:
    if first and first.kind not in OUTWARD:
        return first.kind
    if told:
        return told
    seen = first.kind if first else FailureKind.UNKNOWN
    weightier = said is not None and said.kind in (FailureKind.OUT_OF_MEMORY, FailureKind.NODE_FAILURE)
    return said.kind if said and (weightier or seen is FailureKind.UNKNOWN) else seen


def _who(falls: list[Fall], first: Fall | None, said: Word | None) -> tuple[int | None, str | None]:
    """The first rank that failed, and where: by its own word, by its peers' or by the log's."""
    if first:
        return first.rank, first.host
    missed = next((fall.lost[0] for fall in falls if fall.lost), None)
    if said and (missed is None or missed == said.rank):
        return said.rank, said.host
    return missed, None


def _host_of(rank: int | None, roll: Roll | None, attempt: Attempt) -> str | None:
    if len(attempt.hosts) == 1:
        return attempt.hosts[0]
    return roll.hosts[rank] if roll and rank is not None and rank < len(roll.hosts) else None


def _evidence(
    first: Fall | None, said: Word | None, attempt: Attempt, kind: FailureKind, cluster: str
) -> tuple[str, str]:
    """The lines that show it, and who wrote them."""
    if said and (not first or said.kind is kind is not first.kind):
        return said.line, "its log"
    if first and first.kind is kind:
        if first.by is not None:
            return first.reason, f"rank {first.by}"
        return (_last_frame(first.trace), f"rank {first.rank}") if first.trace else (first.reason, "the job")
    return attempt.reason or "", cluster


def _last_frame(trace: str) -> str:
    """Where the error came from, and the error: the end of a traceback."""
    lines = trace.rstrip().splitlines()
    frames = [number for number, line in enumerate(lines) if line.startswith('  File "')]
    return "\n".join(line.strip() for line in lines[frames[-1] if frames else -1 :])


def _view(fall: Fall) -> FallView:
    return FallView(
        rank=fall.rank, host=fall.host, at=_moment(fall.at), kind=fall.kind, reason=fall.reason, echo=fall.echo
    )


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
