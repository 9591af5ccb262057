"""One part of the service: a process that gets no Ctrl-C of its own, ends when we end, and is started again."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bigbatch.terminal.message import say

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
STEADY_S = 60.0  # who lived that long begins again with the short wait
WORDS = 15  # lines of a log that tell most often what went wrong
PR_SET_PDEATHSIG = 1
# loaded here: between fork and exec nothing should be imported
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class Child:
    """`python -m WORDS`, its output appended to `log`."""

    def __init__(self, name: str, words: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> None:
        self.name, self.log = name, log
        self._words, self._environment = words, environment
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = self._due_at = 0.0
        self._wait_s = FIRST_WAIT_S
        self.begun = False

    def start(self) -> None:
        if not self.begun:
            self._begin_log()
        self.begun = True
        # -P: a folder called "api" where the user stands must not come before ours
        command = [sys.executable, "-P", "-m", *self._words]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_ends_with(os.getpid()),
            )
        self._started_at = time.monotonic()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def code(self) -> int | None:
        """The exit code of a process that has ended; None while it lives, and before it has begun."""
        return self._process.poll() if self._process else None

    def tend(self) -> None:
        """Start the process again if it has ended; the more often, the later."""
        now = time.monotonic()
        if self._process and not self.alive:
            self._wait_s = FIRST_WAIT_S if now - self._started_at > STEADY_S else self._wait_s
            say(f"{self.name} ended ({self._how()}); starting it again in {self._wait_s:g} s; its log: {self.log}")
            self.kill()
            self._due_at, self._wait_s = now + self._wait_s, min(2 * self._wait_s, LONGEST_WAIT_S)
        elif not self._process and now >= self._due_at:
            self.start()

    def ask_to_end(self) -> None:
        if self._process and self.alive:
            self._process.terminate()

    def kill(self) -> None:
        """End the process and whatever it left in its group, and forget it."""
        if self._process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _begin_log(self) -> None:
        """A log for this time; the one of the time before is kept."""
        self.log.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            self.log.replace(self.log.with_suffix(".log.1"))

    def last_words(self) -> str:
        """How it ended, and the end of its log."""
        with self.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 10_000))
            told = file.read().decode(errors="replace").rstrip().splitlines()[-WORDS:]
        return "\n".join([f"{self.name} ended ({self._how()}); the last lines of {self.log}:", *told])

    def _how(self) -> str:
        code = self.code()
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _ends_with(parent: int) -> Callable[[], None]:
    """What a child does before it becomes its program: ask for a TERM when its parent ends, even by kill -9."""

    def ask() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)

    return ask
