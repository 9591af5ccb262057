"""Patterns of log lines by which srun, slurmstepd, shells and Python report why a job ended."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from contract.lifecycle.failure import FailureKind

LABEL = r"^(?:(?P<label>\d+): )?"  # srun --label: the rank that printed the line
TASK = r"srun: error: (?P<host>[\w.-]+): tasks? (?P<ranks>[\d,-]+): "
CRASHES = "Killed|Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception"

# The most specific first: out of memory explains why a process was killed, and its line follows the line "Killed".
PATTERN_TEXTS = [
    (FailureKind.OUT_OF_MEMORY, TASK + "Out Of Memory"),
    (FailureKind.OUT_OF_MEMORY, LABEL + r".*(?:oom[_-]kill|OOM Killed|MemoryError|can't allocate memory)"),
    (FailureKind.NODE_FAILURE, r"(?:Node failure on (?P<host>[\w.-]+)|DUE TO NODE FAILURE)"),
    (FailureKind.TIME_LIMIT, "DUE TO TIME LIMIT"),
    (
        FailureKind.WRONG_ENVIRONMENT,
        LABEL + r"(?:slurmstepd-(?P<host>[\w.-]+))?.*execve\(\): .*(?:No such file|Permission denied)",
    ),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*: (?:command not found|No module named .*)$"),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r"(?:ModuleNotFoundError|ImportError): "),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*(?:cannot open shared object file|cannot execute binary file)"),
    (FailureKind.WRONG_ENVIRONMENT, r"line \d+: .*: No such file or directory$"),
    (FailureKind.SIGNAL, TASK + f"(?:{CRASHES})"),
    (FailureKind.PYTHON_ERROR, LABEL + r"(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)"),
    (FailureKind.UNKNOWN, TASK + r"Exited with exit code \d+"),
]
PREFIX = re.compile(f"^(?:{TASK})|{LABEL}")
PATTERNS = [(kind, re.compile(pattern, re.M)) for kind, pattern in PATTERN_TEXTS]
# After this line srun ends all other ranks and reports how each rank ended.
STEP_KILL = re.compile(r"srun: .*_step_signal: Terminating ")


class LogLine(NamedTuple):
    """A log line that reports why a job ended."""

    kind: FailureKind
    line: str
    rank: int | None
    host: str | None

    @property
    def text(self) -> str:
        """The line without its prefix of rank and host."""
        return PREFIX.sub("", self.line)


def find_failure_line(log: str, *, missed: int | None = None, echoes: Collection[int] = ()) -> LogLine | None:
    """Return the most specific failure line of a log; None without one.

    Of several equally specific lines, return the first line of rank `missed`, else the first line. Python errors of the
    ranks `echoes` do not count, because these ranks failed as a consequence of another rank's failure.
    """
    step_kill = STEP_KILL.search(log)
    for kind, pattern in PATTERNS:
        follows_step_kill = kind in (FailureKind.SIGNAL, FailureKind.UNKNOWN)
        lines = _matching_lines(
            kind, pattern, log[: step_kill.start()] if step_kill and follows_step_kill else log, missed
        )
        found = [line for line in lines if kind is not FailureKind.PYTHON_ERROR or line.rank not in echoes]
        if found:
            return next((line for line in found if line.rank == missed), found[0])
    return None


def _matching_lines(kind: FailureKind, pattern: re.Pattern[str], log: str, missed: int | None) -> Iterator[LogLine]:
    for found in pattern.finditer(log):
        groups = found.groupdict()
        ranks = _parse_numbers(groups.get("ranks") or groups.get("label") or "")
        rank = missed if missed in ranks else min(ranks, default=None)
        yield LogLine(kind, _line_at(log, found.start()), rank, groups.get("host"))


def _parse_numbers(text: str) -> set[int]:
    """Return the numbers in a list such as "0-2,5"."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return {number for first, _, last in ends for number in range(int(first), int(last or first) + 1)}


def _line_at(log: str, position: int) -> str:
    start, end = log.rfind("\n", 0, position) + 1, log.find("\n", position)
    return log[start : end if end >= 0 else None].strip()[:500]
