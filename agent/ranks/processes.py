"""Processes of this machine: children and grandchildren, the signals that they handle, and the death of orphans."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
IS_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if IS_LINUX else None  # loaded before any fork


def adopt_orphans() -> None:
    """Make this process the parent of its descendants whose own parent ends, so that it finds and ends them."""
    if _LIBC:
        _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Let this process get SIGKILL when its parent ends."""
    parent = os.getppid()
    if _LIBC:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the call
            os.kill(os.getpid(), signal.SIGKILL)


def prepare_rank() -> None:
    """Run in a new process before its program: a group of its own, SIGUSR2 ignored, and death with the agent.

    A process group of its own lets one signal reach the program and its helpers, and not the agent. The default action
    of SIGUSR2, Slurm's warning, would end a program that does not know it.
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT))
    if _LIBC:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def signal_group(group: int, number: int) -> None:
    """Send a signal to every process of a group, if any is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def has_group(group: int) -> bool:
    """Return whether a process group has a living process."""
    return any(one == group for _, _, one in _living())


def groups_below(root: int) -> set[int]:
    """Return the process groups of the living processes below `root`, without this process's own group."""
    below = set(descendants(root))
    return {group for pid, _, group in _living() if pid in below} - {os.getpgrp()}


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants(root: int) -> list[int]:
    """Return the living processes below `root`, without itself."""
    children: dict[int, list[int]] = {}
    for pid, parent, _ in _living():
        children.setdefault(parent, []).append(pid)
    found, queue = [], list(children.get(root, ()))
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += children.get(pid, ())
    return found


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal; False if that is not known."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            mask = next((line.split()[1] for line in file if line.startswith("SigCgt:")), "0")
    except OSError:
        return False
    return bool(int(mask, 16) >> (number - 1) & 1)


def processes_with(entry: str) -> list[int]:
    """Return the processes of this user whose first environment has `entry`, as NAME=VALUE."""
    found, wanted = [], entry.encode()
    for pid in _numbers():
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if wanted in file.read().split(b"\0"):
                found.append(pid)
    return found


def _living() -> Iterator[tuple[int, int, int]]:
    """Yield every living process with its parent and its process group."""
    if not IS_LINUX:
        words = ["ps", "-A", "-o", "pid=,ppid=,pgid="]
        for line in subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines():
            shown, shown_parent, shown_group = line.split()
            yield int(shown), int(shown_parent), int(shown_group)
        return
    for pid in _numbers():
        with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, parent, group = file.read().rpartition(")")[2].split()[:3]
            if state != "Z":
                yield pid, int(parent), int(group)


def _numbers() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []
