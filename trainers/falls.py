"""What a rank leaves behind when it falls, and which fall was the first."""

import time
import traceback

from contract.folder import Fall, RunFolder
from trainers.collectives.wire.lost import RankLost
from trainers.place import Place

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
    trace = "".join(traceback.format_exception(error))
    folder.note_fall(attempt, Fall(time.time(), place.rank, place.host, reason, trace, echo))
    if isinstance(error, RankLost) and error.is_silent:
        _note_the_silent(folder, attempt, error)
    if echo:
        _await_cause(folder, attempt)
    return folder.falls(attempt)[0]


def _note_the_silent(folder: RunFolder, attempt: int, error: RankLost) -> None:
    """Note the fall of ranks that stall: they can't do so themselves, and nobody sees them die."""
    for rank in error.ranks:
        if all(fall.rank != rank for fall in folder.falls(attempt)):
            folder.note_fall(attempt, Fall(time.time(), rank, "", one_line(str(error)), trace=""))


def one_line(text: str) -> str:
    return " ".join(text.split())


def _is_echo(error: BaseException) -> bool:
    return isinstance(error, ConnectionError) or any(words in str(error) for words in ECHOES)


def _await_cause(folder: RunFolder, attempt: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while folder.falls(attempt)[0].echo and time.monotonic() < deadline:
        time.sleep(POLL_S)
