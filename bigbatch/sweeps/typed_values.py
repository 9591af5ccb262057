"""Values that a user typed in one word, such as `0.1,0.2`: numbers where nothing is lost, else texts as typed.

A number has no memory of how it was typed: 3.10 is 3.1, and 25921e05 is 2592100000.0. Such a word stays a text.
"""

import json
import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

from agent.program.placeholders import as_text

# 1e-4 and 2.5e6 are numbers, as one writes a rate; hashes such as 25921e05 look otherwise
SCIENTIFIC = re.compile(r"-?[1-9](?:\.\d*[1-9])?[eE][-+]?[1-9]\d?")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL)
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# ranges as other tools write them: 1..9, log:1e-3..1e-1, 0:1:0.1, and Hydra's functions
RANGE = re.compile(rf"(?:\w+:)?{NUMBER}\.\.\.?{NUMBER}(?::{NUMBER})?|{NUMBER}:{NUMBER}:{NUMBER}")
FUNCTION = re.compile(r"(?:choice|range|interval|logspace|linspace|loguniform|uniform|shuffle|glob)\(.*\)", re.DOTALL)
CLOSING = {"[": "]", "{": "}", "(": ")"}


def read_typed_list(text: str) -> list[Any]:
    """Return the values between the commas of `text`; raise ValueError for an open bracket or quote and for a range.

    A text in brackets alone is the list inside, and a comma inside brackets or quotes separates nothing.
    """
    words = _split(text)
    if len(words) == 1 and words[0].startswith("[") and words[0].endswith("]"):
        words = _split(words[0][1:-1]) if words[0][1:-1].strip() else words
    _refuse_ranges(words)
    return read_typed(words)


def _refuse_ranges(words: Sequence[str]) -> None:
    """Raise ValueError for a word that is a range elsewhere: here it would be one text."""
    for word in words:
        if RANGE.fullmatch(word) or FUNCTION.fullmatch(word):
            raise ValueError(
                f"{word!r} would be one text, because a sweep has no ranges: list the values, such as 0.001,0.01,0.1; "
                "for values between two bounds submit a file with `search` (docs/sweeps.md); "
                f"quotes make it a text: '\"{word}\"'"
            )


def read_typed(words: Sequence[str]) -> list[Any]:
    """Return the values of the words of one field: JSON values, or texts if one of them is a text."""
    values = [_value_of(word) for word in words]
    return [_unquoted(word) for word in words] if any(isinstance(value, str) for value in values) else values


def kept_texts(values: Sequence[Any]) -> list[str]:
    """Return the values if all are texts that look like numbers, which their user may expect to be numbers."""
    return [*values] if all(isinstance(value, str) and _looks_like_number(value) for value in values) else []


def _looks_like_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _value_of(word: str) -> Any:
    """Return the JSON value of a word, or the text itself where the command would get another one."""
    try:
        return json.loads(word, parse_int=_whole, parse_float=_fraction, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _unquoted(word)


def _whole(word: str) -> int:
    return int(word) if str(int(word)) == word else _refuse(word)


def _fraction(word: str) -> float:
    value = float(word)
    return value if as_text(value) == word or SCIENTIFIC.fullmatch(word) else _refuse(word)


def _refuse(word: str) -> Any:
    raise ValueError(f"the number is not written as {word}")


def _unquoted(word: str) -> str:
    """Return a text without the quotes around it."""
    if len(word) > 1 and word[0] == word[-1] == "'":
        return word[1:-1]
    if len(word) > 1 and word[0] == word[-1] == '"':
        try:
            return str(json.loads(word))
        except ValueError:
            return word[1:-1]
    return word


def _split(text: str) -> list[str]:
    """Return the words between commas outside brackets and quotes; raise ValueError."""
    words, start, place = [], 0, 0
    missing: list[str] = []  # ends of the brackets that are open
    while place < len(text):
        character = text[place]
        begins_word = not text[start:place].strip()
        if (character == '"' and (begins_word or missing)) or (character == "'" and begins_word):
            place = _end_of_quotes(text, place)
        elif character in CLOSING:
            missing.append(CLOSING[character])
        elif missing and character == missing[-1]:
            missing.pop()
        elif character == "," and not missing:
            words.append(text[start:place].strip())
            start = place + 1
        place += 1
    if missing:
        raise ValueError(f"{text!r} has a bracket without its end: '{missing[-1]}' is missing; or put quotes around it")
    return [*words, text[start:].strip()]


def _end_of_quotes(text: str, start: int) -> int:
    """Return the place of the quote that ends the one at `start`; raise ValueError."""
    found = QUOTED.match(text, start)
    if not found:
        raise ValueError(f"{text!r} has a quote without its end: {text[start]} is missing")
    return found.end() - 1
