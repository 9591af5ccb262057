"""What a job's log says of its end: the words of srun, slurmstepd, shells and Python, where no rank left a note."""

import re
from typing import NamedTuple

from contract.failure import FailureKind

LABEL = r"^(?:(?P<label>\d+): )?"  # srun --label: the rank whose line it is
TASK = r"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>\d+)[\d,-]*: "
CRASHES = "Killed|Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception"

# The weightier first: that memory ran out is said after the process was killed, and says more.
WORDS = [
    (FailureKind.OUT_OF_MEMORY, TASK + "Out Of Memory"),
    (FailureKind.OUT_OF_MEMORY, LABEL + r".*(?:oom[_-]kill|OOM Killed|MemoryError|can't allocate memory)"),
    (FailureKind.NODE_FAILURE, r"(?:Node failure on (?P<host>[\w.-]+)|DUE TO NODE FAILURE)"),
    (FailureKind.TIME_LIMIT, "DUE TO TIME LIMIT"),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*execve\(\): .*(?:No such file|Permission denied)"),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*: (?:command not found|No module named .*)$"),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r"(?:ModuleNotFoundError|ImportError): "),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*(?:cannot open shared object file|cannot execute binary file)"),
    (FailureKind.WRONG_ENVIRONMENT, r"line \d+: .*: No such file or directory$"),
    (FailureKind.SIGNAL, TASK + f"(?:{CRASHES})"),
    (FailureKind.PYTHON_ERROR, LABEL + r"(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)"),
    (FailureKind.UNKNOWN, TASK + r"Exited with exit code \d+"),
]
PATTERNS = [(kind, re.compile(pattern, re.M)) for kind, pattern in WORDS]


class Word(NamedTuple):
    """A line that says how a job ended."""

    kind: FailureKind
    line: str
    rank: int | None
    host: str | None


def first_word(log: str) -> Word | None:
    """The weightiest line of a log, of several the first; None where none says anything."""
    for kind, pattern in PATTERNS:
        if found := pattern.search(log):
            groups = found.groupdict()
            rank = groups.get("rank") or groups.get("label")
            return Word(kind, _line_at(log, found.start()), int(rank) if rank else None, groups.get("host"))
    return None


def _line_at(log: str, place: int) -> str:
    start, end = log.rfind("\n", 0, place) + 1, log.find("\n", place)
    return log[start : end if end >= 0 else None].strip()[:500]
