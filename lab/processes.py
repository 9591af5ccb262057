"""Processes as /proc tells them: which carry out this command, which live in that namespace, are they really gone."""

import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One living process."""

    pid: int
    parent: int
    program: str
    words: tuple[str, ...]
    network: int  # inode of its network namespace; 0 where this user may not know


def everyone(proc: Path = PROC) -> Iterator[Process]:
    """Yield all living processes; those that end meanwhile are left out."""
    for entry in proc.iterdir():
        if entry.name.isdigit() and (process := look(int(entry.name), proc)):
            yield process


def look(pid: int, proc: Path = PROC) -> Process | None:
    """Return the process, or None if there is none; a zombie has no command line any more and counts as gone."""
    try:
        line = (proc / str(pid) / "cmdline").read_bytes().rstrip(b"\0")
        # "pid (program) state parent ...", where the program's name may hold anything
        before, _, after = (proc / str(pid) / "stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    words = tuple(os.fsdecode(word) for word in line.split(b"\0"))
    program = before.partition("(")[2]
    return Process(pid, int(after.split()[1]), program, words, network(proc / str(pid))) if line else None


def network(process: Path) -> int:
    """Return the inode of the network namespace of a folder in /proc."""
    try:
        return (process / "ns" / "net").stat().st_ino
    except OSError:
        return 0


def carrying_out(words: Sequence[str]) -> list[Process]:
    """Return the processes whose command line is, or begins with, these words. Unlike a pid file it is never stale."""
    return [process for process in everyone() if process.words[: len(words)] == tuple(words)]


def saying(word: str) -> list[Process]:
    """Return the processes that have this word on their command line."""
    return [process for process in everyone() if word in process.words]


def living_in(networks: Iterable[int]) -> list[Process]:
    """Return the processes in these network namespaces, but never those in our own, whatever is asked."""
    asked = set(networks) - {0, network(PROC / "self")}
    return [process for process in everyone() if process.network in asked]


def children(parents: Iterable[Process]) -> list[Process]:
    """Return the processes that these have started themselves."""
    pids = {parent.pid for parent in parents}
    return [process for process in everyone() if process.parent in pids]


def stop(pids: Iterable[int], *, patience_s: float) -> None:
    """Ask to end, insist after `patience_s`, return when all are gone."""
    left = _signal(pids, signal.SIGTERM)
    asked_until = time.monotonic() + patience_s
    while left and time.monotonic() < asked_until:
        time.sleep(0.05)
        left = [pid for pid in left if look(pid)]
    left = _signal(left, signal.SIGKILL)
    while any(look(pid) for pid in left):
        time.sleep(0.05)


def _signal(pids: Iterable[int], number: signal.Signals) -> list[int]:
    reached = []
    for pid in pids:
        try:
            os.kill(pid, number)
            reached.append(pid)
        except ProcessLookupError:
            pass
    return reached
