"""Patterns of log lines by which srun, slurmstepd, shells and Python report why a job ended.

A job may print anything, so the analysis takes time in proportion to the log: the log's end and the beginning and end
of each line are read alone, every pattern is linear (a possessive or atomic group never tries a second way), and the
search ends after BUDGET_S.
"""

import re
import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

from contract.diagnosis.consequences import is_consequence
from contract.folder.bounds import LINE_CHARS, MAX_RANKS, printable, shorten
from contract.lifecycle.failure import FailureKind

LOG_CHARS = 256_000  # of a log's end
EVIDENCE_CHARS = 500  # of a line
BUDGET_S = 5.0  # a hundred times the time that a log of LOG_CHARS takes
LAST_CHARS, LAST_LINES = 20_000, 5  # of a log's end that no pattern knows
TOOLS = ("srun: ", "slurmstepd", "bigbatch: ")  # print lines of their own into the log
# srun --label and the agent: the rank that printed the line; then what torchrun and torch write before it
LABEL = r"^(?: {0,8}+(?P<label>\d{1,9}): )?+(?:\[default\d{1,9}\]: ?+)?+(?:\[rank(?P<inner>\d{1,9})\]: ?+)?+"
TASK = r"srun: error: (?P<host>[\w.-]++): tasks? (?P<ranks>[\d,-]++): "
CRASHES = "Killed|Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception"

# The most specific first: out of memory explains why a process was killed, and its line follows the line "Killed".
PATTERN_TEXTS = [
    (FailureKind.OUT_OF_MEMORY, TASK + "Out Of Memory"),
    (FailureKind.OUT_OF_MEMORY, LABEL + r".*(?:oom[_-]kill|OOM Killed|MemoryError|can't allocate memory)"),
    (FailureKind.NODE_FAILURE, r"^Error running slurm prolog: \d++"),
    (FailureKind.NODE_FAILURE, r"(?:Node failure on (?P<host>[\w.-]++)|DUE TO NODE FAILURE)"),
    (FailureKind.TIME_LIMIT, "DUE TO TIME LIMIT"),
    (
        FailureKind.WRONG_ENVIRONMENT,
        LABEL + r"(?:slurmstepd-(?P<host>[\w.-]++))?+(?>.*?execve\(\): ).*(?:No such file|Permission denied)",
    ),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*: (?:command not found|No module named .*)$"),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r"(?:ModuleNotFoundError|ImportError): "),
    (FailureKind.WRONG_ENVIRONMENT, LABEL + r".*(?:cannot open shared object file|cannot execute binary file)"),
    (FailureKind.WRONG_ENVIRONMENT, r"^(?>.*?line \d++: ).*: No such file or directory$"),
    (FailureKind.SIGNAL, TASK + f"(?:{CRASHES})"),
    (FailureKind.PYTHON_ERROR, LABEL + r"(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)"),
    (FailureKind.UNKNOWN, TASK + r"Exited with exit code \d+"),
]
LABELLED = re.compile(LABEL)
PREFIX = re.compile(f"^(?:{TASK})|{LABEL}")
PATTERNS = [(kind, re.compile(pattern, re.M)) for kind, pattern in PATTERN_TEXTS]
# After this line srun ends all other ranks and reports how each rank ended.
STEP_KILL = re.compile(r"^(?>.*?srun: ).*_step_signal: Terminating ", re.M)
RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.A)


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
    """Return the most specific failure line of a log's last LOG_CHARS characters; None without one.

    Of several equally specific lines, return the first line of rank `missed`, else the first line. Python errors of the
    ranks `echoes` do not count, because these ranks failed as a consequence of another rank's failure; other errors
    that are consequences count if there is no cause.
    """
    until = time.monotonic() + BUDGET_S
    log = "\n".join(shorten(line, LINE_CHARS) for line in log[-LOG_CHARS:].split("\n"))
    step_kill = STEP_KILL.search(log)
    for kind, pattern in PATTERNS:
        follows_step_kill = kind in (FailureKind.SIGNAL, FailureKind.UNKNOWN)
        first = consequence = None
        for line in _matching_lines(
            kind, pattern, log[: step_kill.start()] if step_kill and follows_step_kill else log, missed
        ):
            if kind is FailureKind.PYTHON_ERROR and line.rank in echoes:
                continue
            if kind is FailureKind.PYTHON_ERROR and is_consequence(line.text) and time.monotonic() <= until:
                consequence = consequence or line
                continue
            first = first or line
            if missed is None or line.rank == missed or time.monotonic() > until:
                return line if line.rank == missed else first
        if first or consequence or time.monotonic() > until:
            return first or consequence
    return None


def find_last_output(log: str, rank: int | None) -> str:
    """Return the last lines that the rank printed, at most LAST_LINES; empty if there are none.

    Lines with the label of another rank, and those of srun, Slurm and the agent, do not count.
    """
    found: list[str] = []
    for line in reversed(log[-LAST_CHARS:].split("\n")):
        label, text = _split_label(line[:LINE_CHARS])
        if text.strip() and not text.startswith(TOOLS) and (label is None or rank in (None, label)):
            found.append(printable(text.rstrip()[:EVIDENCE_CHARS])[:EVIDENCE_CHARS])
        if len(found) == LAST_LINES:
            break
    return "\n".join(reversed(found))


def _split_label(line: str) -> tuple[int | None, str]:
    found = LABELLED.match(line)
    label = found and (found["label"] or found["inner"])
    return (int(label), line[found.end() :]) if found and label else (None, line)


def _matching_lines(kind: FailureKind, pattern: re.Pattern[str], log: str, missed: int | None) -> Iterator[LogLine]:
    for found in pattern.finditer(log):
        groups = found.groupdict()
        ranks = _parse_ranges(groups.get("ranks") or groups.get("label") or groups.get("inner") or "")
        is_missed = any(missed in part for part in ranks)
        rank = missed if is_missed else min((part.start for part in ranks), default=None)
        yield LogLine(kind, _line_at(log, found.start()), rank, groups.get("host"))


def _parse_ranges(text: str) -> list[range]:
    """Return the ranges of a list such as "0-2,5", as ranges: the list may name more numbers than a memory holds."""
    found = [RANGE.fullmatch(part) for part in text.split(",")]
    ends = [(int(part[1]), int(part[2] or part[1])) for part in found if part]
    return [range(first, last + 1) for first, last in ends if first <= last < MAX_RANKS]


def _line_at(log: str, position: int) -> str:
    start, end = log.rfind("\n", 0, position) + 1, log.find("\n", position)
    return printable(log[start : end if end >= 0 else None].strip()[:EVIDENCE_CHARS])
