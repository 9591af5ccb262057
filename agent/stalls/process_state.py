"""What Linux shows of a process: whether it is stopped, and what it waits for."""

from __future__ import annotations

STOPPED = ("T", "t")  # by SIGSTOP; by a debugger


def state_of(pid: int) -> str:
    """Return the letter of the process's state, as ps shows it; empty if the process is gone or there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def is_stopped(pid: int) -> bool:
    """Return whether a signal or a debugger has stopped the process."""
    return state_of(pid) in STOPPED


def waits_in(pid: int) -> str:
    """Return the function of the kernel in which the process waits; empty if this is not known."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as file:
            name = file.read().strip()
    except OSError:
        return ""
    return "" if name == "0" else name
