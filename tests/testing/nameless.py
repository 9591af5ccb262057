"""Processes that show neither arguments nor environment, as some runtimes and hostile programs make them.

Run as a program with a number: it starts so many of them, prints "ready", and ends them when its input ends.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PR_SET_PDEATHSIG = 1
PAGE = 4096
ARG_START, ENV_END = 45, 48  # words after the name in /proc/PID/stat, from zero: proc(5)


@contextmanager
def nameless_processes(number: int) -> Iterator[None]:
    """Keep `number` sleeping processes without a name, each in a session of its own, during the block."""
    words = [sys.executable, str(Path(__file__)), str(number)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin
        assert parent.stdout
        assert parent.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            parent.stdin.close()


def remove_name(libc: ctypes.CDLL) -> None:
    """Give the pages back that /proc/PID/cmdline and /proc/PID/environ show."""
    words = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(words[ARG_START]) // PAGE * PAGE, -(-int(words[ENV_END]) // PAGE) * PAGE
    libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start))


def main() -> None:
    """Start the processes and wait for the end of the input."""
    libc = ctypes.CDLL(None)
    for _ in range(int(sys.argv[1])):
        reading, writing = os.pipe()
        if os.fork() == 0:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.setsid()
            remove_name(libc)
            os.write(writing, b".")
            signal.pause()
        os.read(reading, 1)
        os.close(reading)
        os.close(writing)
    print("ready", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
