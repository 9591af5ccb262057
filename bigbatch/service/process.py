"""A process of the service: not affected by Ctrl-C, ended with this process, and restarted after its end."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from bigbatch.service import log_file
from bigbatch.service.environment import ProcessEnvironment
from bigbatch.terminal.message import print_message
from contract.private_files import make_private_folder
from contract.process_settings import SETTINGS_SOCKET, send_settings
from contract.refusal import REFUSED

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
STEADY_S = 60.0  # a process that ran for this time is restarted with the short delay
LOG_LINES = 15  # usually enough lines to show the cause of an exit
PR_SET_PDEATHSIG = 1
# loaded here, because no module may be imported between fork and exec
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class ServiceProcess:
    """The process `python -m WORDS`; its output is appended to `log`."""

    def __init__(self, name: str, words: Sequence[str], *, log: Path, environment: ProcessEnvironment) -> None:
        self.name, self.log = name, log
        self._words, self._environment = words, environment
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = self._due_at = 0.0
        self._wait_s = FIRST_WAIT_S
        self.has_started = False

    def start(self) -> None:
        """Start the process."""
        if not self.has_started:
            make_private_folder(self.log.parent)  # the home itself may be a folder that others use
            log_file.begin(self.log)
        self.has_started = True
        # -P: a folder "api" in the working directory must not hide the package
        command = [sys.executable, "-P", "-m", *self._words]
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, self.log.open("ab") as output:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**self._environment.variables, SETTINGS_SOCKET: str(theirs.fileno())},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    preexec_fn=_die_with_parent(os.getpid()),
                )
            with suppress(BrokenPipeError, ConnectionResetError):  # the process has ended already
                send_settings(ours, self._environment.secrets)
        self._started_at = time.monotonic()

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def code(self) -> int | None:
        """Return the exit code of the ended process; None before its start and before its end."""
        return self._process.poll() if self._process else None

    def restart_if_ended(self) -> None:
        """Restart the process if it has ended, after a delay that doubles with each restart."""
        now = time.monotonic()
        if self._process and not self.is_alive:
            self._wait_s = FIRST_WAIT_S if now - self._started_at > STEADY_S else self._wait_s
            print_message(f"{self.name} ended ({self._exit_status()}); restart in {self._wait_s:g} s; log: {self.log}")
            self.kill()
            self._due_at, self._wait_s = now + self._wait_s, min(2 * self._wait_s, LONGEST_WAIT_S)
        elif not self._process and now >= self._due_at:
            self.start()

    def bound_log(self) -> None:
        """Move the log to the file before it, if it has become too long."""
        with suppress(OSError):  # a full disk, or a log that a person has removed
            log_file.rotate(self.log, log_file.MAX_BYTES)

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        if self._process and self.is_alive:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the process and all processes of its group."""
        if self._process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def describe_exit(self) -> str:
        """Return why the process could not start, else the exit status and the last lines of the log."""
        lines = self._last_lines()
        if self.code() == REFUSED and lines:
            return lines[-1]
        return "\n".join([f"{self.name} ended ({self._exit_status()}); the last lines of {self.log}:", *lines])

    def _last_lines(self) -> list[str]:
        with self.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 10_000))
            return file.read().decode(errors="replace").rstrip().splitlines()[-LOG_LINES:]

    def _exit_status(self) -> str:
        code = self.code()
        if code == REFUSED:
            return "".join(self._last_lines()[-1:])
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _die_with_parent(parent: int) -> Callable[[], None]:
    """Return a function that requests SIGTERM at the end of the parent process, even after kill -9."""

    def request() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent ended before the request
            os._exit(1)

    return request
