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

PY_SPY_S, DUMP_S, POLL_S = 5.0, 2.0, 0.02
MAX_BYTES = 1 << 18


def collect_stacks(path: Path, pid: int, program: str | None = None) -> str:
    """Replace the stacks in `path` by those of now, and return them; `program` is py-spy's path, None: search it."""
    stopped = is_stopped(pid)
    head = f"process {pid}, state {state_of(pid) or 'unknown'}{' (stopped)' if stopped else ''}"
    where = waits_in(pid)
    head += f", waits in {where}\n" if where else "\n"
    text = _by_py_spy(pid, program or shutil.which("py-spy")) or _by_faulthandler(path, pid, stopped=stopped)
    text = head + text
    with suppress(OSError):
        draft = path.with_name(f".{path.name}.new")
        draft.write_text(text, encoding="utf-8", errors="replace")
        os.replace(draft, path)  # a new file: the hook of a rank that goes on writes to the old one
    return text


def _by_py_spy(pid: int, program: str | None) -> str:
    if program is None:
        return ""
    words = [program, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=PY_SPY_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout[:MAX_BYTES] if done.returncode == 0 else ""


def _by_faulthandler(path: Path, pid: int, *, stopped: bool) -> str:
    before = _size(path)
    if before is None:  # no hook runs in the process
        return ""
    try:
        os.kill(pid, signal.SIGURG)
        if stopped:
            os.kill(pid, signal.SIGCONT)
        until = time.monotonic() + DUMP_S
        size = before
        while time.monotonic() < until:
            time.sleep(POLL_S)
            last, size = size, _size(path) or 0
            if size > before and size == last:
                break
        if stopped:
            os.kill(pid, signal.SIGSTOP)
    except OSError:
        pass
    with suppress(OSError), open(path, "rb") as file:
        return file.read(MAX_BYTES).decode("utf-8", "replace")
    return ""


def _size(path: Path) -> int | None:
    try:
        return os.lstat(path).st_size
    except OSError:
        return None
