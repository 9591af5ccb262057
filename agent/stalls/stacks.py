"""The stacks of a rank's threads: by py-spy where it is installed and allowed, else by faulthandler on a signal.

The hook in the program has registered faulthandler for SIGURG (bigbatch/injected/stalls/stack_notes.py), which other
programs ignore. A process that is stopped runs no handler, so it is continued for a moment; its rank ends soon in any
case. If that fails too, the last stack that the hook has written remains.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from agent.stalls.process_state import is_stopped, state_of, waits_in
from runfiles.regular_file import open_regular

PY_SPY_S, DUMP_S, POLL_S = 5.0, 2.0, 0.02
MAX_BYTES = 1 << 18


def collect_stacks(attempts: Path, attempt: int, rank: int, pid: int) -> str:
    """Write the stacks of now to attempts/N.stacks-R.txt, above the one that the hook has noted; return the text."""
    path, threads = attempts / f"{attempt}.stacks-{rank}.txt", attempts / f"{attempt}.threads-{rank}.txt"
    noted, stopped, where = _read(path), is_stopped(pid), waits_in(pid)
    text = f"process {pid}, state {state_of(pid) or 'unknown'}{', stopped' if stopped else ''}"
    text += f", waits in {where}\n" if where else "\n"
    text += _by_py_spy(pid, shutil.which("py-spy")) or _by_faulthandler(threads, pid, stopped=stopped)
    text += f"\nnoted before: {noted}" if noted else ""
    with suppress(OSError):
        draft = path.with_name(f".{path.name}.new")
        draft.write_text(text, encoding="utf-8", errors="replace")
        os.replace(draft, path)  # a new file: the hook of a rank that goes on writes to the old one
        threads.unlink()
    return text


def _by_py_spy(pid: int, program: str | None) -> str:
    if program is None:
        return ""
    words = [program, "dump", "--nonblocking", "--full-filenames", "--pid", str(pid)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=PY_SPY_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout[:MAX_BYTES] if done.returncode == 0 else ""


def _by_faulthandler(threads: Path, pid: int, *, stopped: bool) -> str:
    """Let the process write its stacks to `threads`; empty if no hook runs in it."""
    if not threads.exists():
        return ""
    with suppress(OSError):
        os.kill(pid, signal.SIGURG)
        if stopped:
            os.kill(pid, signal.SIGCONT)
        until, before, size = time.monotonic() + DUMP_S, _size(threads), 0
        while time.monotonic() < until and (size <= before or size != _size(threads)):
            size = _size(threads)
            time.sleep(POLL_S)
        if stopped:
            os.kill(pid, signal.SIGSTOP)
    return _read(threads)


def _read(path: Path) -> str:
    with suppress(OSError), open_regular(path, follow_links=False) as file:
        return file.read(MAX_BYTES).decode("utf-8", "replace")
    return ""


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
