"""What a job's log says of its end: the words of srun, slurmstepd, shells and Python, where no rank left a note."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from contract.lifecycle.failure import FailureKind

LABEL = r"^(?:(?P<label>\d+): )?"  # srun --label: the rank whose line it is
TASK = r"srun: error: (?P<host>[\w.-]+): tasks? (?P<ranks>[\d,-]+): "
CRASHES = "Killed|Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception"

# The weightier first: that memory ran out is said after the process was killed, and says more.
WORDS = [
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
PATTERNS = [(kind, re.compile(pattern, re.M)) for kind, pattern in WORDS]
# from here on srun ends the other ranks, and tells of each how it ended
ENDING_THE_REST = re.compile(r"srun: .*_step_signal: Terminating ")


class Word(NamedTuple):
    """A line that says how a job ended."""

    kind: FailureKind
    line: str
    rank: int | None
    host: str | None

    @property
    def bare(self) -> str:
        """The line without the rank whose it is."""
        return PREFIX.sub("", self.line)


def first_word(log: str, *, missed: int | None = None, echoes: Collection[int] = ()) -> Word | None:
    """The weightiest line of a log, of several the one on rank `missed`, else the first; None where none says anything.

    What ranks among `echoes` printed is about another one's fall.
    """
    rest = ENDING_THE_REST.search(log)
    for kind, pattern in PATTERNS:
        is_said_of_the_rest = kind in (FailureKind.SIGNAL, FailureKind.UNKNOWN)
        words = _words(kind, pattern, log[: rest.start()] if rest and is_said_of_the_rest else log, missed)
        told = [word for word in words if kind is not FailureKind.PYTHON_ERROR or word.rank not in echoes]
        if told:
            return next((word for word in told if word.rank == missed), told[0])
    return None


def _words(kind: FailureKind, pattern: re.Pattern[str], log: str, missed: int | None) -> Iterator[Word]:
    for found in pattern.finditer(log):
        groups = found.groupdict()
        ranks = _numbers(groups.get("ranks") or groups.get("label") or "")
        rank = missed if missed in ranks else min(ranks, default=None)
        yield Word(kind, _line_at(log, found.start()), rank, groups.get("host"))


def _numbers(spelled: str) -> set[int]:
    """The numbers in "0-2,5"."""
    ends = [part.partition("-") for part in spelled.split(",") if part]
    return {number for first, _, last in ends for number in range(int(first), int(last or first) + 1)}


def _line_at(log: str, place: int) -> str:
    start, end = log.rfind("\n", 0, place) + 1, log.find("\n", place)
    return log[start : end if end >= 0 else None].strip()[:500]
