"""A search in a log of any size: lines from the last to the first, block by block, until a budget is used up."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from api.logs.lines import LABEL, LevelFilter, split_rank
from contract.api.curves import LogLevel
from contract.folder.files.untrusted_file import RegularFile

BLOCK = 1 << 18
BUDGET_BYTES, BUDGET_S = 1 << 26, 1.0  # of one search
SAMPLED = 1_000  # lines that do not match and are asked for their rank all the same
MAX_LINE = 8 << 10  # bytes of a line that are looked at and shown
CUT = f" … [the line is longer than {MAX_LINE:,} bytes]"
MAX_LABEL = 24  # bytes at the beginning of a line in which its rank's label is


@dataclass(frozen=True)
class LogQuery:
    """What a line must have; None: anything."""

    rank: int | None = None
    text: str | None = None
    level: LogLevel | None = None
    labels_are_ranks: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether every line matches."""
        return self.rank is None and not self.text and self.level is None


class Found(NamedTuple):
    """The lines that match between the bytes `start` and `end` of a log."""

    lines: list[str]  # in the order of the log
    start: int
    end: int
    names_ranks: bool


class _Matcher:
    """Decides on lines from the last to the first."""

    def __init__(self, query: LogQuery) -> None:
        self._query = query
        self._needle = (query.text or "").casefold()
        self._levels = LevelFilter(query.level) if query.level else None
        # most lines of a large log are refused without decoding them
        is_plain = self._levels is None and self._needle.isascii()
        self._bytes = self._needle.encode() if is_plain else b""
        self.names_ranks = False
        self._unsure = SAMPLED

    def fits(self, raw: bytes) -> bool:
        """Return whether the line matches."""
        if self._bytes and self._bytes not in raw.lower():
            if self._unsure and not self.names_ranks:
                self._unsure -= 1
                self._split(raw)
            return False
        line, rank, text = self._split(raw)
        # the filter of levels must see every line
        if self._levels is not None and not self._levels.admits(rank, text):
            return False
        return self._query.rank in (None, rank) and self._needle in line.casefold()

    def _split(self, raw: bytes) -> tuple[str, int | None, str]:
        line = raw.decode("utf-8", "replace")
        rank, text = split_rank(line, labels_are_ranks=self._query.labels_are_ranks)
        self.names_ranks = self.names_ranks or rank is not None
        return line, rank, text


def search(file: RegularFile, query: LogQuery, *, first: int, end: int, limit: int) -> Found:
    """Return the last lines that match between the bytes `first` and `end`, of at most `limit` bytes together.

    `start` is above `first` if the lines or the budget ended the search. A part of a line at `end` counts as a line.
    """
    matcher = _Matcher(query)
    lines: list[str] = []
    start, size = end, 0
    for at, raw in _lines_backward(file, first, end, query.labels_are_ranks):
        if matcher.fits(raw):
            if lines and size + len(raw) >= limit:
                break
            size += len(raw) + 1
            lines.append(_text(raw))
        start = at
    return Found(lines[::-1], start, end, matcher.names_ranks)


def _text(raw: bytes) -> str:
    return raw[:MAX_LINE].decode("utf-8", "replace") + (CUT if len(raw) > MAX_LINE else "")


def _lines_backward(file: RegularFile, first: int, end: int, has_labels: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the byte at which each line begins, and the line without its end, until the budget is used up."""
    until, least = time.monotonic() + BUDGET_S, end - BUDGET_BYTES
    head, rest, position, found = b"", b"", end, False
    while position > first:
        begin = max(first, position - BLOCK)
        block = file.read(begin, position - begin)
        stop = len(block)
        if position == end and block.endswith(b"\n"):
            stop -= 1
        while (newline := block.rfind(b"\n", 0, stop)) >= 0:
            part = block[newline + 1 : stop]
            yield begin + newline + 1, _with_label(_extend(part, rest), part + head, has_labels)
            head, rest, stop, found = b"", b"", newline, True
        part, position = block[:stop], begin
        head, rest = (part + head)[:MAX_LABEL], _extend(part, rest)
        # a line that begins before `position` is left to the next search, unless there is no other
        if found and position > first and (position <= least or time.monotonic() > until):
            return
        if position <= least:
            break
    if end > first:
        yield position, _with_label(rest, head, has_labels)


def _extend(part: bytes, rest: bytes) -> bytes:
    """Return `part` and the end of its line, which is known; what was overwritten is gone, as on a terminal.

    A carriage return at the beginning says that the last frame begins there. Of a long line the beginning is kept.
    """
    if rest.startswith(b"\r"):
        return rest
    line = (part + rest).rstrip(b"\r")  # of a frame that nothing has overwritten yet, or of a line of Windows
    return line[max(0, line.rfind(b"\r")) :][: MAX_LINE + 1]


def _with_label(line: bytes, head: bytes, has_labels: bool) -> bytes:
    """Return a line whose last frame has the label of its rank, which stands before the first frame only."""
    if not line.startswith(b"\r"):
        return line
    label = LABEL.match(head[:MAX_LABEL].decode("latin-1")) if has_labels else None
    return (label[0].encode() if label else b"") + line[1:]
