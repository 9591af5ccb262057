"""Values in place of references: in texts, in commands, and as whole values of any type."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from agent.program.placeholders import PLACEHOLDER, as_text
from agent.program.shell_line import QuotingError, quote
from agent.program.shell_places import PLAIN, find_places
from contract.spec.steps.reference import REFERENCE, Reference, ReferenceIssue, parse_reference

ValueOf = Callable[[Reference], Any]
COMMAND = "command"


def fill_run(document: Mapping[str, Any], value_of: ValueOf) -> dict[str, Any]:
    """Return the document of a run with values in place of its references; raise ReferenceIssue.

    In the command a value is never read as a placeholder. A line for bash has each value quoted, and a list as several
    words; in a command that is a list of words, a word that is a list becomes several words.
    """
    filled = {name: fill(value, value_of) for name, value in document.items() if name != COMMAND}
    if COMMAND not in document:
        return filled
    command = document[COMMAND]
    if isinstance(command, str):
        return {**filled, COMMAND: _fill_line(command, value_of)}
    if isinstance(command, list):
        return {**filled, COMMAND: [word for one in command for word in _fill_word(one, value_of)]}
    return {**filled, COMMAND: command}


def fill(value: Any, value_of: ValueOf) -> Any:
    """Return a value of a document with values in place of its references; raise ReferenceIssue."""
    if isinstance(value, str):
        return _fill_text(value, value_of)
    if isinstance(value, Mapping):
        return {name: fill(one, value_of) for name, one in value.items()}
    if isinstance(value, list):
        return [fill(one, value_of) for one in value]
    return value


def _fill_text(text: str, value_of: ValueOf) -> Any:
    whole = REFERENCE.fullmatch(text)
    if whole and whole[1] is not None:
        return value_of(parse_reference(whole[1]))
    return REFERENCE.sub(lambda found: _one_text(found, value_of), text)


def _fill_line(line: str, value_of: ValueOf) -> str:
    places = find_places(line, REFERENCE)

    def words(found: re.Match[str]) -> str:
        place = places.get(found.start())
        if found[1] is None or place is None:  # in a comment
            return found[0]
        value = value_of(parse_reference(found[1]))
        if isinstance(value, list) and place.kind != PLAIN:
            raise ReferenceIssue(f"{found[0]} is a list, and {place.kind} has room for one value: write it alone")
        values = value if isinstance(value, list) else [value]
        try:
            return _escape(" ".join(quote(as_text(one), place, found[0]) for one in values))
        except QuotingError as error:
            raise ReferenceIssue(str(error)) from None

    return REFERENCE.sub(words, line)


def _fill_word(word: Any, value_of: ValueOf) -> list[Any]:
    if not isinstance(word, str):
        return [word]
    whole = REFERENCE.fullmatch(word)
    if whole and whole[1] is not None:
        value = value_of(parse_reference(whole[1]))
        return [_escape(as_text(one)) for one in (value if isinstance(value, list) else [value])]
    return [REFERENCE.sub(lambda found: _escape(_one_text(found, value_of)) if found[1] else found[0], word)]


def _one_text(found: re.Match[str], value_of: ValueOf) -> str:
    if found[1] is None:
        return found[0]
    value = value_of(parse_reference(found[1]))
    if isinstance(value, list):
        raise ReferenceIssue(f"{found[0]} is a list, and a text has room for one value")
    return as_text(value)


def _escape(text: str) -> str:
    """Return the text so that a command's placeholders stand for it: `{lr}` becomes `{{lr}}`."""
    return PLACEHOLDER.sub(lambda found: f"{{{found[0]}}}", text)
