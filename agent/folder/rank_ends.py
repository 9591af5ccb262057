"""How ranks ended: a failed rank's record (contract/folder/rank_failure.py), and each rank's exit status."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agent.folder.run_folder import RunFolder
from agent.program.error_text import find_error
from runfiles.exit_status import PAUSED

STOPPED = 128 + signal.SIGTERM  # recorded of a rank that ended after a request to end
CANNOT_START = (126, 127)  # exit statuses of a shell for a command that is no program, or absent
MAX_REASON = 2_000
RETRY_S, RETRY_EVERY_S = 60.0, 1.0  # for an exit status that a full disk rejects


@dataclass(frozen=True)
class RankEnd:
    """The end of one rank's process; `status` is negative for a signal."""

    rank: int
    host: str
    status: int
    is_stop: bool = False  # the rank ended after the agent had asked it to, or was killed by the agent
    is_out_of_memory: bool = False
    what: str = ""  # what was started, where it is not the program itself

    @property
    def is_failure(self) -> bool:
        """Whether the rank failed by itself."""
        return self.status not in (0, PAUSED) and not self.is_stop

    @property
    def kind(self) -> str:
        """The kind of failure."""
        if self.is_out_of_memory:
            return "out_of_memory"
        if self.status < 0 or self.status - 128 in _FATAL:
            return "signal"
        return "wrong_environment" if self.status in CANNOT_START else "unknown"

    def describe(self) -> str:
        """Return why the rank failed, in one sentence."""
        name = _signal_name(-self.status if self.status < 0 else self.status - 128)
        cause = f"killed by {name}" if name and self.status < 0 else f"left with status {self.status}"
        if name and self.status > 128:
            cause += f" ({name})"
        if self.is_out_of_memory:
            cause = "killed by SIGKILL, because its memory limit was reached (cgroup oom_kill)"
        elif self.status in CANNOT_START:
            cause += " (the command cannot be started)"
        return f"rank {self.rank} on {self.host}: {self.what and self.what + ' '}{cause}"


_FATAL = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def record_end(
    folder: RunFolder, attempt: int, end: RankEnd, *, is_shared: bool, said: Iterable[str] = (), world: int = 1
) -> None:
    """Write the rank's failure, unless the program wrote its own record; with `is_shared` its exit status too.

    `said`: the ends of the rank's own streams, in which its error is found. The first agent waits for the exit status
    of each rank, so a write that fails is repeated for a minute: the rank of an agent whose status is shared is its
    only one. What cannot be written is said in the output.
    """
    if end.is_failure and folder.read(f"{attempt}.rank-{end.rank}.json") is None:
        text = json.dumps(_describe_failure(end, said, has_peers=world > 1))
        _try_to_write(folder, f"{attempt}.rank-{end.rank}.json", text, end)
    if is_shared:
        status, until = STOPPED if end.is_stop else end.status, time.monotonic() + RETRY_S
        while not _try_to_write(folder, f"{attempt}.exit-{end.rank}", str(status), end) and time.monotonic() < until:
            time.sleep(RETRY_EVERY_S)


def record_failure(folder: RunFolder, attempt: int, *, rank: int, host: str, reason: str) -> None:
    """Record why the attempt failed before a program was started, unless the disk that failed is this one."""
    record = {"at": time.time(), "rank": rank, "host": host, "reason": reason[:MAX_REASON], "kind": "unknown"}
    with suppress(OSError):
        folder.write(f"{attempt}.rank-{rank}.json", json.dumps({**record, "echo": False}))


def _describe_failure(end: RankEnd, said: Iterable[str], *, has_peers: bool) -> dict[str, Any]:
    """Return the record of a failed rank: with what it said of its error, or with its exit status."""
    record = {"at": time.time(), "rank": end.rank, "host": end.host, "reason": end.describe(), "kind": end.kind}
    may_say = end.kind in ("unknown", "signal") and not end.what
    error = find_error(said, at_end=end.kind == "signal") if may_say else None
    if error and end.kind == "signal":
        # Lightning kills rank 0 when another one fails, and a rank may crash while Python cleans up after its error
        error = error if error.is_certain or (error.is_consequence and -end.status == signal.SIGABRT) else None
    if error and not (error.is_consequence and error.kind == "unknown"):
        record.update(reason=f"rank {end.rank} on {end.host}: {error.text}", kind=error.kind, trace=error.trace)
    record["reason"] = str(record["reason"])[:MAX_REASON]
    return {**record, "echo": bool(error and error.is_consequence and has_peers)}


def _try_to_write(folder: RunFolder, name: str, text: str, end: RankEnd) -> bool:
    try:
        folder.write(name, text)
    except OSError as error:
        print(f"bigbatch: {end.describe()}; this could not be recorded: {error}", file=sys.stderr, flush=True)
        return False
    return True


def read_statuses(folder: RunFolder, attempt: int) -> dict[int, int]:
    """Return the exit statuses that other agents of the attempt have written, by rank."""
    pattern, found = re.compile(rf"{attempt}\.exit-([0-9]{{1,7}})"), {}
    for name in os.listdir(folder.attempts):
        if match := pattern.fullmatch(name):
            text = folder.read(name)
            if text is not None and re.fullmatch(r"-?[0-9]{1,3}", text):  # NFS may show a new file as empty at first
                found[int(match[1])] = int(text)
    return found


def first_failure(folder: RunFolder, attempt: int) -> dict[str, Any] | None:
    """Return the earliest record of a failed rank, causes before consequences; None without one."""
    pattern, found = re.compile(rf"{attempt}\.rank-[0-9]{{1,7}}\.json"), []
    for name in os.listdir(folder.attempts):
        if pattern.fullmatch(name):
            try:
                record = json.loads(folder.read(name) or "")
                found.append((bool(record.get("echo")), float(record["at"]), record))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
    return min(found, key=lambda one: one[:2])[2] if found else None
