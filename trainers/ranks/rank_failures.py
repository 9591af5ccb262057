"""Record why a rank failed, and find the first failure of an attempt."""

import re
import sys
import time
import traceback

from contract.diagnosis.consequences import ECHO_TEXTS
from contract.folder.rank_failure import RankFailure, has_cause
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from trainers.collectives.wire.rank_lost import RankLost
from trainers.ranks.error_kind import classify_error
from trainers.ranks.rank_info import RankInfo

CAUSE_TIMEOUT_S = 3.0  # how long an echo waits for the record of the rank that failed first
# all ranks wait at once: each looks at one file, after 0.02 s, then after half as long again, up to a second
FIRST_POLL_S, POLL_S, SLOWER = 0.02, 1.0, 1.5
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # such as those with which torch makes words bold


def record_failure(folder: RunFolder, attempt: int, rank_info: RankInfo, error: BaseException) -> RankFailure:
    """Record why this rank failed; return the attempt's first failure, which is an echo if no cause is known.

    Rank 0 alone, which reports the failure, reads the records of all ranks; other ranks return their own record. They
    wait for the cause as well, because Slurm kills all ranks when one has ended.
    """
    failure = _make_failure(rank_info, error)
    # a rank that stalled and is resumed to be killed must not overwrite the record that other ranks made of it
    recorded = folder.read_rank_failures(attempt, [rank_info.rank]) if failure.echo else []
    if all(other.echo for other in recorded):
        folder.write_rank_failure(attempt, failure)
    if isinstance(error, RankLost) and error.is_unresponsive:
        _record_unresponsive(folder, attempt, error, failure)
    if failure.echo:
        _wait_for_cause(folder, attempt)
    return folder.read_rank_failures(attempt, [rank_info.rank] if rank_info.rank else None)[0]


def _make_failure(rank_info: RankInfo, error: BaseException) -> RankFailure:
    echo, lost = _is_echo(error), error if isinstance(error, RankLost) else None
    cause = f"{type(error).__name__}: {error}"
    if echo:
        # a collective names the lost rank, but does not know why that rank failed
        cause = str(error) if lost else "lost the connection to another rank"
    return RankFailure(
        at=time.time(),
        rank=rank_info.rank,
        host=rank_info.host,
        reason=one_line(f"rank {rank_info.rank} on {rank_info.host}: {cause}"),
        trace="".join(traceback.format_exception(error)),
        echo=echo,
        kind=classify_error(error),
        round=lost.in_round if lost else None,
        lost=lost.ranks if lost else [],
    )


def _record_unresponsive(folder: RunFolder, attempt: int, error: RankLost, own: RankFailure) -> None:
    """Record the failure of ranks that stall: they cannot do so themselves, and their processes do not end."""
    roster = folder.read_roster(attempt)
    for rank in error.ranks:
        if not folder.read_rank_failures(attempt, [rank]):
            host = roster.hosts[rank] if roster and rank < len(roster.hosts) else ""
            failure = RankFailure(
                at=own.at,
                rank=rank,
                host=host,
                reason=one_line(str(error)),
                kind=FailureKind.COLLECTIVE_TIMEOUT,
                round=error.in_round,
                by=own.rank,
            )
            folder.write_rank_failure(attempt, failure)


def one_line(text: str) -> str:
    """Return the text without a terminal's escape sequences, and with one space for every run of white space."""
    return " ".join(ESCAPES.sub("", text).split())


def _is_echo(error: BaseException) -> bool:
    """Return whether the error is a consequence: when one rank fails, the connections of the other ranks break."""
    is_about_connections = isinstance(error, ConnectionError) or any(text in str(error) for text in ECHO_TEXTS)
    return is_about_connections and _raising_package(error) in ("trainers", "torch")


def _raising_package(error: BaseException) -> str:
    """Return the package whose call raised the error: a user's model or data set may have its own connections."""
    called = [str(frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    packages = [name.partition(".")[0] for name in called]
    # frames of the standard library (socket, ssl) do not show which package owns the connection
    return next((package for package in reversed(packages) if package not in sys.stdlib_module_names), "trainers")


def _wait_for_cause(folder: RunFolder, attempt: int) -> None:
    deadline, poll_s = time.monotonic() + CAUSE_TIMEOUT_S, FIRST_POLL_S
    while not has_cause(folder.path, attempt) and (remaining_s := deadline - time.monotonic()) > 0:
        time.sleep(min(poll_s, remaining_s))
        poll_s = min(SLOWER * poll_s, POLL_S)
