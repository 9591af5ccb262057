"""The ends of the agents' outputs: srun may bring the last lines of a process to the log after the process has ended.

An agent under srun therefore writes a last line behind the output of its ranks, and the agent of rank 0 reads the log
up to these lines. An agent whose output goes to a file itself writes none.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

_LINE = "bigbatch: attempt {attempt}, agent {agent}: end of output {number} of {count}\n"
_PATTERN = re.compile(rb"bigbatch: attempt (\d{1,9}), agent (\d{1,9}): end of output (\d) of (\d)$")


def pipes() -> list[int]:
    """Return standard output and standard error, as far as they are pipes; one of them if both are the same."""
    found: dict[tuple[int, int], int] = {}
    for file in (1, 2):
        with suppress(OSError):
            status = os.fstat(file)
            if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
                found.setdefault((status.st_dev, status.st_ino), file)
    return list(found.values())


def announce_end(attempt: int, agent: int) -> None:
    """Write the last line of this agent to each pipe, after its ranks have ended."""
    files = pipes()
    for number, file in enumerate(files, start=1):
        with suppress(OSError):
            os.write(file, _LINE.format(attempt=attempt, agent=agent, number=number, count=len(files)).encode())


class OutputEnds:
    """The last lines that a reader of the log has seen."""

    def __init__(self) -> None:
        self._missing: dict[tuple[int, int], set[int]] = {}  # the outputs of an attempt's agent that go on

    def take(self, line: bytes) -> bytes:
        """Remember an agent's last line; return what the program wrote of the line."""
        found = _PATTERN.search(line)
        if found is None:
            return line
        attempt, agent, number, count = map(int, found.groups())
        self._missing.setdefault((attempt, agent), set(range(1, count + 1))).discard(number)
        return line[: found.start()]

    def are_complete(self, attempt: int, agents: int) -> bool:
        """Return whether the outputs of all agents of the attempt have ended."""
        return not any(self._missing.get((attempt, agent), True) for agent in range(agents))
