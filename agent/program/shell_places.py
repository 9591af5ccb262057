"""Where the placeholders of a line for bash stand: alone, in quotes, in a here-document, or where no value can stand.

A placeholder in a comment has no place.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PLAIN, SINGLE, DOUBLE, ANSI = "plain", "'", '"', "$'"  # ANSI: $'...'
TEXT, LITERAL_TEXT = "text", "literal text"  # of a here-document; literal: its last line is named in quotes
VARIABLE = "variable"  # `${name}` is a variable of bash and no placeholder
BACKTICKS, EXPANSION, BACKSLASH, UNCLOSED = "`", "${", "\\", "unclosed"  # no value can stand there
_COMMAND, _ARITHMETIC = "(", "(("  # $( ) and ( ); $(( )) and (( )), one of it for each parenthesis
_HERE_DOCUMENT = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?)([^\s'\"\\;&|<>()$`]+))")
_BEFORE_WORD = " \t\n;&|()<>"


class Place(NamedTuple):
    """Where a placeholder stands."""

    kind: str
    last_line: str = ""  # of the here-document


class _HereDocument(NamedTuple):
    last_line: str
    has_tabs: bool  # before its last line
    is_literal: bool


def find_places(line: str, placeholder: re.Pattern[str]) -> dict[int, Place]:
    """Return the place of each placeholder by its position; `placeholder` has the name as its first group."""
    reader = _Reader(line, placeholder)
    reader.read(0, len(line), PLAIN)
    lost_at = reader.lost_at
    places = dict(sorted(reader.places.items()))
    return {at: Place(UNCLOSED) if at > lost_at else place for at, place in places.items()}


class _Reader:
    """Reads a line as bash does, as far as quotes go."""

    def __init__(self, line: str, placeholder: re.Pattern[str]) -> None:
        self.places: dict[int, Place] = {}
        self.lost_at = len(line)  # from here on, the quoting is not known
        self._line = line
        self._placeholder = placeholder
        self._documents: list[_HereDocument] = []

    def read(self, at: int, end: int, base: str, last_line: str = "") -> None:
        """Read a part of the line that is a command (PLAIN) or the text of a here-document (TEXT)."""
        opened: list[tuple[str, int]] = []  # what is open, and where it was opened
        while at < end:
            kind = opened[-1][0] if opened else base
            found = self._placeholder.match(self._line, at)
            if found:
                if found[1] is not None:
                    self.places[at] = Place(_place_kind([base, *(one for one, _ in opened)]), last_line)
                at = found.end()
            else:
                at = self._step(at, kind, opened)
        if opened:
            self.lost_at = min(self.lost_at, opened[0][1])

    def _step(self, at: int, kind: str, opened: list[tuple[str, int]]) -> int:
        """Read what stands at a position; return the position after it."""
        letter = self._line[at]
        if letter == "\\":
            return self._after_backslash(at + 1)
        if letter == "`" or (letter == '"' and kind not in (TEXT, BACKTICKS)):
            quotes = BACKTICKS if letter == "`" else DOUBLE
            return _close(opened, at) if kind == quotes else _open(opened, quotes, at, 1)
        if kind == BACKTICKS:
            return at + 1
        if letter == "$":
            return self._after_dollar(at, kind, opened)
        if kind == EXPANSION:
            return self._in_expansion(at, opened)
        return at + 1 if kind in (DOUBLE, TEXT) else self._in_command(at, kind, opened)

    def _in_expansion(self, at: int, opened: list[tuple[str, int]]) -> int:
        if self._line[at] == "}":
            return _close(opened, at)
        if self._line[at] == "'" and not any(kind == DOUBLE for kind, _ in opened):
            return self._quoted(at + 1, SINGLE)
        return at + 1

    def _in_command(self, at: int, kind: str, opened: list[tuple[str, int]]) -> int:
        letter = self._line[at]
        if letter == "'":
            return self._quoted(at + 1, SINGLE)
        if letter == ")":
            return _close(opened, at) if opened else at + 1  # without a first one: of a pattern of `case`
        if letter == "(":
            return self._parenthesis(at, kind, opened)
        return at + 1 if kind == _ARITHMETIC else self._in_words(at, kind)

    def _in_words(self, at: int, kind: str) -> int:
        letter = self._line[at]
        begins_word = at == 0 or self._line[at - 1] in _BEFORE_WORD
        if letter == "#" and begins_word:
            return self._end_of_line(at)
        if letter == "\n":
            return self._texts(at + 1)
        if begins_word and kind == _COMMAND and re.match(r"case\s", self._line[at : at + 5]):
            self.lost_at = min(self.lost_at, at)  # the parentheses of its patterns have no first one
        if self._line.startswith("<<<", at):
            return at + 3
        if found := _HERE_DOCUMENT.match(self._line, at):
            last_line = found[2] or found[3] or found[5]
            is_literal = not found[5] or bool(found[4])
            self._documents.append(_HereDocument(last_line, bool(found[1]), is_literal))
            return found.end()
        return at + 1

    def _after_backslash(self, at: int) -> int:
        found = self._placeholder.match(self._line, at)
        if found and found[1] is not None:
            self.places[at] = Place(BACKSLASH)
        return found.end() if found else at + 1

    def _after_dollar(self, at: int, kind: str, opened: list[tuple[str, int]]) -> int:
        following = self._line[at + 1 : at + 2]
        if following == "{":
            variable = self._placeholder.match(self._line, at + 1)
            if variable and variable[1] is not None:
                self.places[at + 1] = Place(VARIABLE)
            return variable.end() if variable else _open(opened, EXPANSION, at, 2)
        if following == "(":
            return self._parenthesis(at + 1, kind, opened)
        if following == "'" and kind in (PLAIN, _COMMAND):
            return self._quoted(at + 2, ANSI)
        return at + 1

    def _parenthesis(self, at: int, kind: str, opened: list[tuple[str, int]]) -> int:
        if self._line.startswith("((", at):
            _open(opened, _ARITHMETIC, at, 1)
            return _open(opened, _ARITHMETIC, at, 2)
        return _open(opened, _ARITHMETIC if kind == _ARITHMETIC else _COMMAND, at, 1)

    def _quoted(self, at: int, kind: str) -> int:
        """Read to the end of '...' or $'...'."""
        began = at
        while at < len(self._line):
            found = self._placeholder.match(self._line, at)
            if found:
                if found[1] is not None:
                    self.places[at] = Place(kind)
                at = found.end()
            elif self._line[at] == "'":
                return at + 1
            else:
                at = self._after_backslash(at + 1) if kind == ANSI and self._line[at] == "\\" else at + 1
        self.lost_at = min(self.lost_at, began - 1)
        return at

    def _texts(self, at: int) -> int:
        """Read the texts of the here-documents that the line before has begun."""
        documents, self._documents = self._documents, []
        for document in documents:
            began, end = at, at
            while end < len(self._line):
                at = self._end_of_line(end) + 1
                text = self._line[end : at - 1]
                if (text.lstrip("\t") if document.has_tabs else text) == document.last_line:
                    break
                end = at
            end = min(end, len(self._line))
            if document.is_literal:
                found = self._placeholder.finditer(self._line, began, end)
                self.places.update({one.start(): Place(LITERAL_TEXT, document.last_line) for one in found if one[1]})
            else:
                self.read(began, end, TEXT, document.last_line)
        return min(at, len(self._line))

    def _end_of_line(self, at: int) -> int:
        end = self._line.find("\n", at)
        return len(self._line) if end < 0 else end


def _open(opened: list[tuple[str, int]], kind: str, at: int, length: int) -> int:
    opened.append((kind, at))
    return at + length


def _close(opened: list[tuple[str, int]], at: int) -> int:
    opened.pop()
    return at + 1


def _place_kind(kinds: list[str]) -> str:
    """Return where a placeholder stands, by what is open around it, the innermost last."""
    if BACKTICKS in kinds:
        return BACKTICKS
    for kind in reversed(kinds):
        if kind == EXPANSION:
            return EXPANSION
        if kind in (_COMMAND, _ARITHMETIC):
            break
    return PLAIN if kinds[-1] in (_COMMAND, _ARITHMETIC) else kinds[-1]
