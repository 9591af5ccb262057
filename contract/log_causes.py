"""The cause of a line of the log: what makes lines alike, so that a repetition is told from something new."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

WORDS = 300  # characters of a cause
MEMBERS = 20  # of a group of errors that are told apart
PACKAGES = frozenset(("api", "bigbatch", "contract", "migrations", "orders", "scheduler", "store", "study"))
_DATABASE = frozenset(("OperationalError", "InterfaceError"))  # of SQLAlchemy: they come from wherever it is used
# PostgreSQL's codes of errors that no statement causes: the connection, too many of them, an operator's intervention
_AWAY_STATES = ("08", "53300", "57P")
_AWAY_FILES = ("SQLITE_CANTOPEN", "SQLITE_IOERR")
_THINGS = "run|experiment|schedule|search|job"  # the number behind such a word says which one, and not how often
_NUMBER = re.compile(rf"\b((?:{_THINGS}) [0-9]+)|(?<![\w-])[0-9]+(?:[.,][0-9]+)*")
_FIELD = re.compile(rf"(?P<thing>\b(?:{_THINGS}) )?%[-+ #0-9.*]*(?P<kind>[a-zA-Z%])")
_LONG = re.compile(r"[0-9a-f-]*[0-9][0-9a-f-]*")  # a number, or the identifier of a task


class Cause(NamedTuple):
    """What makes lines of the log alike."""

    key: tuple[str, ...]
    kind: tuple[str, ...]  # of this error at this place, or of this text, whichever run it tells of
    words: str  # for people
    is_error: bool = False
    is_away: bool = False  # the database does not answer


class _Member(NamedTuple):
    kind: str
    place: str
    said: str
    is_away: bool

    @property
    def words(self) -> str:
        words = f"{self.kind}: {self.said}" if self.said else self.kind
        return words if self.is_away else f"{words} (at {self.place})"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, "" if self.is_away else self.place, without_numbers(self.said)


def cause_of(record: logging.LogRecord) -> Cause:
    """Return the cause of a record: what it says, with the kinds and the places of its errors."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        key = (record.name, str(record.levelno), *_said(record, None))
        return Cause(key, key[:3], _first_line(record.getMessage()))
    members = sorted({member.key: member for member in _members(error)}.values())
    words = "; ".join(member.words for member in members)[: 2 * WORDS]
    if all(member.is_away for member in members):
        key = tuple(part for member in members for part in member.key)
        return Cause(key, key, words, True, True)
    kind = tuple(part for member in members for part in member.key[:2])
    key = (*kind, *(member.key[2] for member in members), *_said(record, error))
    return Cause(key, kind, _with_message(record, error, words), True)


def without_numbers(text: str) -> str:
    """Return a text without its numbers, which change from line to line, except those of runs and their like."""
    return _NUMBER.sub(lambda found: found[1] or "", text)


def _said(record: logging.LogRecord, error: BaseException | None) -> tuple[str, ...]:
    """Return what a record says without what changes from line to line."""
    if not _is_own(record):  # the texts of libraries are complete
        return () if error is not None else (_LONG.sub("", record.getMessage())[:WORDS],)
    fields = [field for field in _FIELD.finditer(str(record.msg)) if field["kind"] != "%"]
    arguments = record.args or ()
    if not isinstance(arguments, tuple) or len(fields) != len(arguments):
        return str(record.msg), without_numbers(record.getMessage())[:WORDS]
    # bytes are an example of what a run has written
    kept = (
        value
        for field, value in zip(fields, arguments, strict=True)
        if value is not error
        and not isinstance(value, bytes)
        and (field["thing"] or not isinstance(value, int | float))
    )
    return str(record.msg), *(
        (without_numbers(str(value)) if isinstance(value, BaseException) else str(value))[:WORDS] for value in kept
    )


def _with_message(record: logging.LogRecord, error: BaseException, words: str) -> str:
    """Return the words of errors behind what the record says of them; a library says the error alone."""
    if not _is_own(record):
        return words
    said = _first_line(record.getMessage())
    return said if said.endswith(f": {error}") else f"{said}: {words}"


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in PACKAGES


def _members(error: BaseException) -> Iterator[_Member]:
    leaves, groups = list[BaseException](), [error]
    while groups and len(leaves) < MEMBERS:
        one = groups.pop()
        if isinstance(one, BaseExceptionGroup):
            groups.extend(reversed(one.exceptions))
        else:
            leaves.append(one)
    for leaf in leaves:
        yield _Member(type(leaf).__name__, _place_of(leaf.__traceback__), _first_line(str(leaf)), _is_away(leaf))


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0][:WORDS]


def _is_away(error: BaseException) -> bool:
    """Return whether an error says that the database does not answer, and not that a statement failed."""
    if type(error).__name__ not in _DATABASE or not type(error).__module__.startswith("sqlalchemy."):
        return False
    cause = getattr(error, "orig", None)
    if getattr(error, "connection_invalidated", False):
        return True
    if state := getattr(cause, "sqlstate", None):
        return str(state).startswith(_AWAY_STATES)
    name = getattr(cause, "sqlite_errorname", None)
    if isinstance(name, str):
        return name.startswith(_AWAY_FILES)
    return not type(cause).__module__.startswith("sqlite3")  # one without a name is of the module itself


def _place_of(traceback: TracebackType | None) -> str:
    """Return the innermost line of our own code that raised an exception, else the innermost line."""
    places = list(_places(traceback))
    own = [place for place in places if place.partition("/")[0] in PACKAGES]
    return (own or places or ["an unknown place"])[-1]


def _places(traceback: TracebackType | None) -> Iterator[str]:
    root = str(Path(__file__).parents[1]) + "/"
    while traceback is not None:
        yield f"{traceback.tb_frame.f_code.co_filename.removeprefix(root)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
