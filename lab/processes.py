"""Processes of this machine, read from /proc: find them by command line or network namespace, and stop them."""

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
    words: tuple[str, ...]  # command line
    network: int  # inode of its network namespace; 0 if this user may not read it


def iter_processes(proc: Path = PROC) -> Iterator[Process]:
    """Yield all living processes; skip processes that end during the iteration."""
    for entry in proc.iterdir():
        if entry.name.isdigit() and (process := read_process(int(entry.name), proc)):
            yield process


def read_process(pid: int, proc: Path = PROC) -> Process | None:
    """Return the process, or None if there is none; a zombie has no command line and counts as ended."""
    try:
        line = (proc / str(pid) / "cmdline").read_bytes().rstrip(b"\0")
        # The format is "pid (program) state parent ..."; the program's name can contain any character.
        before, _, after = (proc / str(pid) / "stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    words = tuple(os.fsdecode(word) for word in line.split(b"\0"))
    program = before.partition("(")[2]
    return Process(pid, int(after.split()[1]), program, words, network_inode(proc / str(pid))) if line else None


def network_inode(process: Path) -> int:
    """Return the inode of the network namespace of a process folder in /proc; 0 if it cannot be read."""
    try:
        return (process / "ns" / "net").stat().st_ino
    except OSError:
        return 0


def find_by_command(words: Sequence[str]) -> list[Process]:
    """Return the processes whose command line begins with these words; unlike a pid file this is never stale."""
    return [process for process in iter_processes() if process.words[: len(words)] == tuple(words)]


def find_by_argument(word: str) -> list[Process]:
    """Return the processes with this word on their command line."""
    return [process for process in iter_processes() if word in process.words]


def find_in_networks(networks: Iterable[int]) -> list[Process]:
    """Return the processes in these network namespaces, except in the namespace of this process."""
    wanted = set(networks) - {0, network_inode(PROC / "self")}
    return [process for process in iter_processes() if process.network in wanted]


def find_children(parents: Iterable[Process]) -> list[Process]:
    """Return the direct children of these processes."""
    pids = {parent.pid for parent in parents}
    return [process for process in iter_processes() if process.parent in pids]


def stop(pids: Iterable[int], *, patience_s: float) -> None:
    """Send SIGTERM, send SIGKILL after `patience_s`, and return when all processes have ended."""
    alive = _signal(pids, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while alive and time.monotonic() < deadline:
        time.sleep(0.05)
        alive = [pid for pid in alive if read_process(pid)]
    alive = _signal(alive, signal.SIGKILL)
    while any(read_process(pid) for pid in alive):
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
