"""Tracebacks in a program's output: the errors of each of its processes, in the order in which they ended.

torch writes `[rank1]: ` before each line of an error that ends a rank, torchrun `[default1]:` before all that a worker
prints, srun `1: ` and Open MPI `[1,1]<stderr>:`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LINE = 2_000  # characters of a line that are searched
MOST_LINES = 400  # of one traceback; of a longer one the beginning is lost
MOST_FOREIGN = 20  # lines of others within a traceback
_LABEL = re.compile(r" {0,8}([0-9]{1,9}): ")
_PREFIX = re.compile(r"\[rank([0-9]{1,9})\]: ?|\[default([0-9]{1,9})\]:|\[[0-9]{1,9},([0-9]{1,9})\]<std(?:err|out)>:")
_HEADER = re.compile(r"(?:Original |\s*\+ Exception Group )?Traceback \(most recent call last\):\s*$")
_RICH_HEADER, _RICH_FRAMES = re.compile(r"[╭┌][─ ]* Traceback \(most recent call last\)"), ("│", "╰", "└", "┃")
_SYNTAX = re.compile(r'  File "[^"]*", line [0-9]+$')  # an error of the main script's syntax has no header
_IN_GROUP = re.compile(r" +\| ?")  # before the lines of an exception group
_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.|<locals>\.)*(?:_*[A-Z]\w*|timeout|error|gaierror|herror)(?:: .*|:)?\s*$")
_LINK = re.compile(
    r"During handling of the above exception, another exception occurred:"
    r"|The above exception was the direct cause of the following exception:"
    r"|-- Process [0-9]+ terminated with the following error:"
    r"|\s*\+[-+]+ [0-9]+ -+"  # the next exception of a group
)
# before a traceback of an error that does not end the process
_HANDLED = re.compile(
    r"Exception ignored (?:in|on|while)|Exception in thread|Exception in callback|--- Logging error ---"
    r"|Task exception was never retrieved|future: <|Error in atexit"
)
_CHILD = re.compile(r"Process (\S{1,100}):$")  # before the error of a process of multiprocessing


class Traceback(NamedTuple):
    """An error with its traceback; errors that led to it belong to it."""

    process: str  # the prefix of the lines, such as "rank1"; empty without one
    lines: list[str]  # without prefixes
    error: str  # the line of the last error
    end: int  # number of that line in the output
    is_uncaught: bool  # torch wrote it when the error ended the rank

    @property
    def text(self) -> str:
        """The traceback with its errors."""
        return "\n".join(self.lines)

    @property
    def rank(self) -> int | None:
        """The rank in the prefix of the lines."""
        found = re.fullmatch(r"(?:rank|default|label)([0-9]+)", self.process)
        return int(found[1]) if found else None


def find_tracebacks(text: str) -> list[Traceback]:
    """Return the tracebacks that came to an end, in the order of their ends."""
    readers: dict[str, _Reader] = {}
    for number, line in enumerate(text.split("\n")):
        process, rest = split_prefix(line[:LINE].rstrip("\r"))
        readers.setdefault(process, _Reader(process)).take(number, rest)
    found = [one for reader in readers.values() for one in reader.finish()]
    return sorted(found, key=lambda one: one.end)


def split_prefix(line: str) -> tuple[str, str]:
    """Return which process a line names, and the line without its prefixes; torch's own word counts most."""
    process, at = "", 0
    if label := _LABEL.match(line):
        process, at = f"label{label[1]}", label.end()
    while found := _PREFIX.match(line, at):
        kind = ("rank", "default", "label")[(found.lastindex or 1) - 1]
        name = f"{kind}{found[found.lastindex or 1]}"
        process, at = process if process.startswith("rank") else name, found.end()
    return process, line[at:]


class _Reader:
    """Reads the lines of one process."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._is_uncaught = process.startswith("rank")
        self._found: list[Traceback] = []
        self._lines: list[str] = []  # of the present traceback
        self._name = process  # of the process that the present traceback names
        self._error = ""  # its last error; empty while its frames come
        self._end, self._foreign = 0, 0
        self._is_linked = self._is_handled = False
        self._before = ""  # the last line that is not empty

    def take(self, number: int, line: str) -> None:
        """Take the next line."""
        line = _IN_GROUP.sub("", line, count=1) if _IN_GROUP.match(line) else line
        is_syntax_error = not self._lines and _SYNTAX.match(line)
        if _HEADER.match(line) or _RICH_HEADER.match(line) or is_syntax_error:
            self._begin(line)
        elif self._lines and not self._error:
            self._take_frame(number, line)
        elif self._lines:
            self._take_message(line)
        if line.strip():
            self._before = line

    def finish(self) -> list[Traceback]:
        """Return what was found."""
        self._close()
        return self._found

    def _begin(self, line: str) -> None:
        if self._error and (self._is_linked or line.startswith("Original ")):
            self._lines += [line] if line.startswith("Original ") or self._before.startswith("--") else ["", line]
            self._error, self._is_linked, self._foreign = "", False, 0
            return
        self._close()
        self._lines, self._foreign = [line], 0
        self._is_handled = bool(_HANDLED.match(self._before))
        child = _CHILD.match(self._before)
        self._name = self._process or (f"process {child[1]}" if child else "")

    def _take_frame(self, number: int, line: str) -> None:
        if not line or line[0].isspace() or line.startswith(_RICH_FRAMES):
            self._lines.append(line)
        elif _ERROR.match(line):
            self._lines.append(line)
            self._error, self._end = line.rstrip(), number
        else:
            self._foreign += 1
            if self._foreign > MOST_FOREIGN:
                self._lines = []

    def _take_message(self, line: str) -> None:
        """Take what follows an error: the rest of its message, or a word about the error that it led to."""
        if _LINK.match(line):
            self._is_linked = True
            self._lines += ["", line]
        elif self._is_linked or not line.strip() or line == '"""':
            return
        elif self._is_uncaught or (line[0].isspace() and self._before == self._lines[-1]):
            self._lines.append(line)
        else:
            self._close()

    def _close(self) -> None:
        if self._error and not self._is_handled:
            lines = self._lines[-MOST_LINES:]
            self._found.append(Traceback(self._name, lines, self._error, self._end, self._is_uncaught))
        self._lines, self._error, self._is_linked = [], "", False
