"""What a rank leaves behind when it falls, and which fall was the first."""

import sys
import time
import traceback

from contract.folder.rank_failure import Fall
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import FailureKind
from trainers.collectives.wire.rank_lost import RankLost
from trainers.ranks.error_kind import kind_of
from trainers.ranks.rank_info import Place

# When one rank falls, the others see their connections break. These words of gloo, NCCL and the store mean an echo.
ECHOES = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection was likely closed",
    "Broken pipe",
    "remote process exited",
)
PATIENCE_S = 3.0  # how long an echo waits for the word of the rank that fell
POLL_S = 0.02


def note(folder: RunFolder, attempt: int, place: Place, error: BaseException) -> Fall:
    """Note why this rank cannot go on; return the attempt's first fall, which is an echo when no better is known."""
    echo = _is_echo(error)
    cause = f"{type(error).__name__}: {error}"
    if echo:
        # whoever ended a rank that died knows why, but a collective knows who it was
        cause = str(error) if isinstance(error, RankLost) else "lost the connection to another rank"
    reason = one_line(f"rank {place.rank} on {place.host}: {cause}")
    lost = error if isinstance(error, RankLost) else None
    fall = Fall(
        at=time.time(),
        rank=place.rank,
        host=place.host,
        reason=reason,
        trace="".join(traceback.format_exception(error)),
        echo=echo,
        kind=kind_of(error),
        round=lost.in_round if lost else None,
        lost=lost.ranks if lost else [],
    )
    # a rank that stalled, and is woken to be killed, must not put its echo over what the others have noted of it
    if not (echo and any(noted.rank == place.rank and not noted.echo for noted in folder.falls(attempt))):
        folder.note_fall(attempt, fall)
    if lost and lost.is_silent:
        _note_the_silent(folder, attempt, lost, fall)
    if echo:
        _await_cause(folder, attempt)
    return folder.falls(attempt)[0]


def _note_the_silent(folder: RunFolder, attempt: int, error: RankLost, own: Fall) -> None:
    """Note the fall of ranks that stall: they can't do so themselves, and nobody sees them die."""
    roll = folder.roll(attempt)
    for rank in error.ranks:
        if all(fall.rank != rank for fall in folder.falls(attempt)):
            host = roll.hosts[rank] if roll and rank < len(roll.hosts) else ""
            fall = Fall(
                at=own.at,
                rank=rank,
                host=host,
                reason=one_line(str(error)),
                kind=FailureKind.COLLECTIVE_TIMEOUT,
                round=error.in_round,
                by=own.rank,
            )
            folder.note_fall(attempt, fall)


def one_line(text: str) -> str:
    return " ".join(text.split())


def _is_echo(error: BaseException) -> bool:
    is_about_connections = isinstance(error, ConnectionError) or any(words in str(error) for words in ECHOES)
    return is_about_connections and _raised_in(error) in ("trainers", "torch")


def _raised_in(error: BaseException) -> str:
    """The package whose call raised the error: a net or a data set of the user's own has connections of its own."""
    called = [str(frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    packages = [name.partition(".")[0] for name in called]
    # socket, ssl and the like say nothing of whose connection it was
    return next((package for package in reversed(packages) if package not in sys.stdlib_module_names), "trainers")


def _await_cause(folder: RunFolder, attempt: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while folder.falls(attempt)[0].echo and time.monotonic() < deadline:
        time.sleep(POLL_S)
