"""The conversion of what a training script logs into the text of an event: numbers, steps and names.

The bounds are those of contract/folder/bounds.py, which a script's environment may lack; a test compares them.
"""

from __future__ import annotations

import json
import operator
import re
import struct
from typing import Any

MAX_STEP = 2**31 - 1
MAX_VALUES = 2_000  # metrics in one event
MAX_NAME = 200  # characters
LARGEST_EXACT = 2**53  # the largest integer below which a float holds every integer
_NARROW = {"float32": "<f", "float16": "<e", "bfloat16": "<f"}
# control characters and halves of surrogate pairs
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def number_text(value: Any) -> str | None:
    """Return a number as JSON, and NaN and infinities as Python's json module; None for what is no number.

    Scalars of numpy and torch count as numbers: what has a method `item` is what that returns.
    """
    if isinstance(value, float):
        return float.__repr__(value) if value - value == 0.0 else json.dumps(float(value))
    if isinstance(value, int):
        number = int(value)
        return str(number) if -LARGEST_EXACT <= number <= LARGEST_EXACT else _text_of_large(number)
    if value is None:
        return "null"
    if isinstance(value, (str, bytes)):
        return None
    try:
        if hasattr(value, "item"):
            plain = value.item()
            if isinstance(plain, float) and plain - plain == 0.0 and (packed := _narrow(value)):
                plain = shortest_float(plain, packed)
            return number_text(plain) if isinstance(plain, (int, float)) else None
        return number_text(float(value))
    except Exception:  # a tensor of several elements, or an object that is no number
        return None


def shortest_float(value: float, packed: str = "<f") -> float:
    """Return the number with the fewest digits that a float32 (or `<e`) stores as this value: 0.1 for 0.10000000149."""
    for digits in range(1, 9):
        short = float(f"{value:.{digits}g}")
        try:
            if struct.pack(packed, short) == struct.pack(packed, value):
                return short
        except OverflowError:  # rounded to more than the largest one
            continue
    return float(f"{value:.9g}")


def step_number(step: Any) -> int | None:
    """Return a step as an integer that can be stored, None for what is no such step."""
    try:
        plain = step.item() if hasattr(step, "item") else step
        number = int(plain) if isinstance(plain, float) and plain.is_integer() else operator.index(plain)
    except Exception:
        return None
    return number if 0 <= number <= MAX_STEP else None


def is_name(name: Any, *, max_characters: int = MAX_NAME) -> bool:
    """Return whether a metric can have this name: 1 to 200 characters, none of them a control character."""
    return isinstance(name, str) and 0 < len(name) <= max_characters and not _FORBIDDEN.search(name)


def name_text(name: str) -> str:
    """Return a metric's name as JSON."""
    return json.dumps(name, ensure_ascii=False)


def _narrow(value: Any) -> str | None:
    """Return how a scalar of numpy or torch of at most 32 bits is packed: further digits would have no meaning."""
    return _NARROW.get(str(getattr(value, "dtype", "")).rpartition(".")[2])


def _text_of_large(number: int) -> str:
    try:
        return float.__repr__(float(number))
    except OverflowError:
        return "Infinity" if number > 0 else "-Infinity"
