"""What a rank leaves behind when it falls, and which fall was the first."""

import time
import traceback

from contract.folder import Fall, RunFolder
from trainers.place import Place

# When one rank falls, the others see their connections break. These words of gloo, NCCL and the store mean an echo.
ECHOES = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "remote process exited")
PATIENCE_S = 1.0  # how long an echo waits for the word of the rank that fell
POLL_S = 0.02


def note(folder: RunFolder, attempt: int, place: Place, error: BaseException) -> Fall:
    """Note why this rank cannot go on; return the fall that was the attempt's first."""
    if _is_echo(error):
        _await_first(folder, attempt)
    reason = one_line(f"rank {place.rank} on {place.host}: {type(error).__name__}: {error}")
    trace = "".join(traceback.format_exception(error))
    folder.note_fall(attempt, Fall(time.time(), place.rank, place.host, reason, trace))
    return folder.falls(attempt)[0]


def one_line(text: str) -> str:
    return " ".join(text.split())


def _is_echo(error: BaseException) -> bool:
    return isinstance(error, ConnectionError) or any(words in str(error) for words in ECHOES)


def _await_first(folder: RunFolder, attempt: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not folder.falls(attempt) and time.monotonic() < deadline:
        time.sleep(POLL_S)
