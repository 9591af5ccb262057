"""A stage's processes: run a command with a time limit, ask its tests for their stacks, and end all that it started."""

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SHOW_S = 1.0
Show = Callable[[bytes], None]
STACKS_S = 5.0  # a process prints its stacks within this time, on a busy machine too
ROUNDS, ROUND_S = 50, 0.1  # a killed process leaves its children to the gate

_COMMANDS: set[int] = set()  # the processes that a thread awaits
_STARTING = threading.Lock()


@dataclass(frozen=True)
class Ended:
    """How a command ended; `status` is None where it reached its time limit or was stopped."""

    status: int | None
    seconds: float


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends (Linux), so that none is lost."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(
    command: list[str],
    *,
    folder: Path,
    log: Path,
    records: Path,
    limit_s: float,
    show: Show | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Ended:
    """Run a command in a folder, with its output in a file; after `limit_s` print stacks there and end the command.

    `show` gets the output while the command runs. Where `is_stopped` says so, the command ends without stacks.
    """
    began = time.monotonic()
    with log.open("ab") as output, log.open("rb") as printed:
        with _STARTING:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
            _COMMANDS.add(process.pid)

        def goes_on() -> bool:
            if show:
                show(printed.read())
            return not is_stopped()

        status = _wait(process, began + limit_s, goes_on)
        if status is None:
            if not is_stopped():
                output.write(stacks_of(records))
                output.flush()
            started = below(process.pid)  # before its end, after which they are below the gate
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            end_all(started)
            process.wait()
        _COMMANDS.discard(process.pid)
        if show:
            show(printed.read())
    return Ended(status, time.monotonic() - began)


def _wait(process: subprocess.Popen[bytes], until: float, goes_on: Callable[[], bool]) -> int | None:
    """Return the exit status, or None at the time limit or where `goes_on`, asked every second, is false."""
    while (left := until - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(left, SHOW_S))
        reap_orphans()
        if not goes_on():
            break
    return None


def stacks_of(records: Path) -> bytes:
    """Ask every process of pytest that registered itself in `records` for the stacks of its threads; return them."""
    registered = {int(path.name) for path in (records / "processes").glob("*")}
    asked = registered & below(os.getpid())  # the number of one that has ended may belong to another process
    for pid in sorted(asked):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGUSR1)
    time.sleep(STACKS_S * bool(asked))
    return b"\n".join((records / "processes" / str(pid)).read_bytes() for pid in sorted(asked))


def end_all(pids: set[int]) -> None:
    """Kill processes that may have ended already."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def reap_orphans() -> None:
    """Await the adopted processes that have ended: until then they look alive to tests that wait for their end."""
    with _STARTING, contextlib.suppress(ChildProcessError, AttributeError):  # no child; no Linux
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in _COMMANDS:
                break  # its own thread awaits it
            os.waitpid(ended.si_pid, 0)


def end_orphans() -> list[str]:
    """Kill every process below this one; return their command lines."""
    ended: list[str] = []
    for _ in range(ROUNDS):
        if not (pids := below(os.getpid())):
            break
        ended += [command_line(pid) for pid in sorted(pids)]
        end_all(pids)
        time.sleep(ROUND_S)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    return [line for line in dict.fromkeys(ended) if line]


def below(root: int) -> set[int]:
    """Return the descendants of a process, from /proc; nothing where there is no /proc."""
    children: dict[int, set[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, set()).add(int(path.parent.name))
    found: set[int] = set()
    open_ends = {root}
    while open_ends:
        open_ends = set().union(*(children.get(pid, set()) for pid in open_ends)) - found
        found |= open_ends
    return found


def command_line(pid: int) -> str:
    """Return the words of a process, or nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
