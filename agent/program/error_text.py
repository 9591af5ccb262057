"""The error that ended a program, from the end of its output.

A program may be several processes: the ranks of a torchrun of its own, of `accelerate launch` or of mp.spawn. When one
of them fails, the connections of the others break, and the launcher reports that a process failed. Such errors are
consequences; the first other error counts.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from agent.program.tracebacks import LINE, Traceback, find_tracebacks, split_prefix

# errors of gloo, NCCL and the store whose cause is another rank's failure (contract/diagnosis/consequences.py)
ECHO_TEXTS = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection closed by remote peer",
    "Remote peer closed the connection",
    "Connection was likely closed",
    "Broken pipe",
    "remote process exit",
    "NCCL communicator was aborted",
)
AFTERMATH = 100  # lines after an error that torch did not mark: behind more of them it did not end the program
LAST_LINES = 5  # in which any program's word on a lost connection counts
REASON, TRACE = 500, 30_000  # characters of an error's line, and of its traceback
_CHILD_ERRORS = re.compile(r"(?:[\w.]*\.)?(?:ChildFailedError|CalledProcessError|SignalException)(?::|$)")
_OUT_OF_MEMORY = re.compile(
    r"^[\w.]*MemoryError(?::|$)|out of memory|can't allocate memory|cannot allocate memory|unable to mmap .* bytes",
    re.I,
)
_WRONG_ENVIRONMENT = re.compile(
    r"^(?:ModuleNotFoundError|ImportError)(?::|$)|cannot open shared object|undefined symbol|no nvidia driver"
    r"|driver version is insufficient|no kernel image",
    re.I,
)
_SIGNAL = re.compile(r"killed by signal|terminated with signal|died with <Signals")
_TIMEOUT = re.compile(
    r"timed out waiting|timed out after|wait timeout|collective operation timeout|socket timeout"
    r"|Application timeout caused pair closure",
    re.I,
)
_FRAME = re.compile(r'^\s*File "([^"]*)", line ', re.M)
_COLLECTIVES = re.compile(r"gloo|NCCL|c10d|TCPStore", re.I)
_SPAWNED = re.compile(r"^-- Process ([0-9]+) terminated with the following error:", re.M)
_ABORT = re.compile(r"terminate called after throwing an instance of '([^'\n]{1,200})'\s+what\(\):\s+(.{1,2000})")
_ROOT = "Root Cause (first observed failure):"
_ROOT_FIELD = re.compile(r"\s*(rank|exitcode)\s*: (-?[0-9]{1,9})\b")
_ROOT_LINES = 8


class FoundError(NamedTuple):
    """What ended a program."""

    text: str  # one line
    kind: str  # of contract/lifecycle/failure.py
    trace: str = ""
    is_consequence: bool = False  # another process failed, which this output does not show
    is_certain: bool = False  # the error ended its process; else the program may have gone on behind it


class _RootCause(NamedTuple):
    """The first failed rank in torchrun's table of failures."""

    rank: int
    status: int


def find_error(streams: Iterable[str], *, at_end: bool = False) -> FoundError | None:
    """Return the error that ended a program, from the ends of its streams; None without one.

    `at_end`: only an error at the end of a stream counts. A program that a signal killed may have survived one before,
    as torchrun with its restarts.
    """
    found = [error for stream in streams if (error := _find_in(stream, at_end=at_end))]
    return min(found, key=lambda one: (one.is_consequence, not one.is_certain), default=None)


def is_echo_text(text: str) -> bool:
    """Return whether an error of gloo, NCCL or the store says that another rank has gone."""
    return any(one in text for one in ECHO_TEXTS)


def _find_in(text: str, *, at_end: bool) -> FoundError | None:
    tracebacks = [one for one in find_tracebacks(text) if not one.error.startswith("KeyboardInterrupt")]
    root = _find_root_cause(text)
    is_launcher = root is not None or any(map(_is_of_launcher, tracebacks))
    errors = _last_of_each([one for one in tracebacks if not _is_of_launcher(one)])
    marked = [one for one in errors if one.is_uncaught]
    has_several = root is not None or len({one.rank for one in errors if one.rank is not None}) > 1
    if marked and not (is_launcher or has_several):
        errors = marked  # the others did not end the process
    errors = [one for one in errors if (one.is_uncaught and not at_end) or _is_last(one, text, tracebacks)]
    causes = [one for one in errors if not _is_lost_peer(one)]
    causes = [one for one in causes if one.is_uncaught] or causes
    # a rank that waited in vain may have waited for one that failed
    causes = [one for one in causes if _kind(one) != "collective_timeout"] or causes
    if root and (own := [one for one in causes if one.rank == root.rank]):
        causes = own
    elif root and (root.status < 0 or not causes) and (named := _of_root_cause(root)):
        return named
    for one in (*causes, *errors):
        return _describe(one, has_several=has_several, has_table=root is not None)
    return _find_words(text) or _of_launcher(tracebacks)


def _of_launcher(tracebacks: Sequence[Traceback]) -> FoundError | None:
    """Return a launcher's word on a process that printed no error; a program may run others by itself."""
    own = [one for one in tracebacks if _is_of_launcher(one) and "SignalException" not in one.error]
    return _describe(own[-1], has_several=False, has_table=False) if own else None


def _last_of_each(tracebacks: Sequence[Traceback]) -> list[Traceback]:
    """Return the last error of each process, in the order in which they came.

    Processes whose lines have no prefix are not told apart: of these an error that is no consequence counts.
    """
    last: dict[str, Traceback] = {}
    for one in tracebacks:
        is_weaker = one.process in last and _is_lost_peer(one) and not _is_lost_peer(last[one.process])
        if not (is_weaker and not one.is_uncaught):
            last[one.process] = one
    return sorted(last.values(), key=lambda one: one.end)


def _is_of_launcher(one: Traceback) -> bool:
    return _CHILD_ERRORS.match(one.error) is not None


def _is_lost_peer(one: Traceback) -> bool:
    return is_echo_text(_message(one)) and _calls_torch(one)


def _calls_torch(one: Traceback) -> bool:
    """Return whether a call of torch raised the error: a user's own code may have its own connections."""
    frames = _FRAME.findall(one.text)
    # frames of the standard library (socket, ssl) do not show whose connection it is
    others = [path for path in frames if "-packages/" in path or not re.search(r"/lib/python3|^<frozen", path)]
    if not others:
        return _COLLECTIVES.search(_message(one)) is not None
    return "/torch/" in others[-1] and "/torch/utils/data/" not in others[-1]


def _message(one: Traceback) -> str:
    """Return the last error with all lines of its message."""
    return one.text[one.text.rfind(f"\n{one.error}") + 1 :]


def _is_last(one: Traceback, text: str, tracebacks: Sequence[Traceback]) -> bool:
    """Return whether little but other errors follows the error."""
    behind = text.count("\n") - one.end
    return behind - sum(len(other.lines) for other in tracebacks if other.end > one.end) <= AFTERMATH


def _kind(one: Traceback) -> str:
    message = _message(one)
    if _OUT_OF_MEMORY.search(message):
        return "out_of_memory"
    if _WRONG_ENVIRONMENT.search(message):
        return "wrong_environment"
    if _SIGNAL.search(message):
        return "signal"
    return "collective_timeout" if _TIMEOUT.search(message) and _calls_torch(one) else "python_error"


def _describe(one: Traceback, *, has_several: bool, has_table: bool) -> FoundError:
    who, spawned = "", _SPAWNED.findall(one.text)
    if has_several and one.rank is not None:
        who = f"rank {one.rank} of torchrun: " if has_table else f"its rank {one.rank}: "
    elif spawned:
        who = f"process {spawned[-1]}: "
    is_consequence = _is_lost_peer(one)
    text = f"{who}{' '.join(one.error.split())[:REASON]}"
    return FoundError(text, _kind(one), f"{one.text[-TRACE:]}\n", is_consequence, one.is_uncaught)


def _find_root_cause(text: str) -> _RootCause | None:
    at = text.rfind(_ROOT)
    if at < 0:
        return None
    found: dict[str, int] = {}
    for line in text[at:].split("\n")[1 : _ROOT_LINES + 1]:
        if field := _ROOT_FIELD.match(split_prefix(line[:LINE])[1]):
            found.setdefault(field[1], int(field[2]))
    return _RootCause(found["rank"], found["exitcode"]) if len(found) == 2 else None


def _of_root_cause(root: _RootCause) -> FoundError | None:
    """Return the end of torchrun's first failed rank; None if torchrun itself ended it."""
    if root.status == -signal.SIGTERM:
        return None
    who = f"rank {root.rank} of torchrun"
    if root.status >= 0:
        return FoundError(f"{who}: left with status {root.status}", "unknown", is_certain=True)
    try:
        name = signal.Signals(-root.status).name
    except ValueError:
        name = f"signal {-root.status}"
    return FoundError(f"{who}: killed by {name}", "signal", is_certain=True)


def _find_words(text: str) -> FoundError | None:
    """Return what programs in other languages say of a lost peer, or a C++ error that nothing caught."""
    if abort := _ABORT.search(text):
        is_echo = is_echo_text(abort[2]) and _COLLECTIVES.search(abort[2]) is not None
        return FoundError(f"{abort[1]}: {abort[2]}"[:REASON], "signal", is_consequence=is_echo)
    lines = [line for line in text.split("\n") if line.strip()]
    for behind, line in enumerate(reversed(lines[-AFTERMATH:])):
        process, said = split_prefix(line[:LINE])
        is_near = behind < LAST_LINES or process.startswith("rank") or _COLLECTIVES.search(said)
        if is_near and is_echo_text(said):
            return FoundError(" ".join(said.split())[:REASON], "unknown", is_consequence=True)
    return None
