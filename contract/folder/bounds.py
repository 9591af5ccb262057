"""Bounds of what jobs write: each number fits its database column, each text can be stored and shown.

A job may write anything into its folder, by a fault or on purpose. A number or name out of bounds makes its record
invalid. A text that only people read is made valid instead: shortened, and without characters that cannot be stored.
"""

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

INT4, INT8 = 2**31 - 1, 2**63 - 1  # the largest values of the databases' columns
MAX_RANKS = 1_000_000  # of one attempt
MAX_VALUES = 2_000  # metrics in one event
MAX_SERIES = 2_000  # metrics of one run: each is a row, and a part of answers about the run
MAX_SERIES_BYTES = 128 << 10  # of all their names, in UTF-8
MAX_RANK_SERIES = 1_000  # of them, metrics of ranks other than rank 0
MAX_NOTES = 100
LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999, the last that Python's datetime has
LINE_CHARS, TEXT_CHARS = 2_000, 20_000
SHORTENED = " ... [shortened] ... "
HOST_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$"  # no comma, bracket or space: the name becomes a part of --exclude
MAX_NAME_CHARS = 200  # of a metric
MAX_NAME_BYTES = 4 * MAX_NAME_CHARS  # in UTF-8
MAX_OUTPUTS, MAX_ARTIFACTS = 100, 400  # of one run: outputs that its spec names; with its checkpoints
MAX_PATH_CHARS = 1024
METRIC_NAME = rf"^[^\x00-\x1f\x7f-\x9f]{{1,{MAX_NAME_CHARS}}}$"
# control characters except tab and newline, and halves of surrogate pairs: a terminal would obey the former, and the
# latter have no UTF-8
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """Return the text with U+FFFD for every character that cannot be stored or that a terminal would obey."""
    return _UNPRINTABLE.sub("\ufffd", text)


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters: the beginning and the end of a longer text, with a mark between them."""
    if len(text) <= limit:
        return text
    rest = limit - len(SHORTENED)
    return text[: rest - rest // 2] + SHORTENED + text[-(rest // 2) :]


def clamp_moment(at: float) -> float:
    """Return the moment, or the nearest one between 1970 and the year 9999; 1970 for NaN."""
    return min(max(at, 0.0), LAST_MOMENT) if not math.isnan(at) else 0.0


def _line(value: Any) -> Any:
    return printable(shorten(value, LINE_CHARS)) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return printable(shorten(value, TEXT_CHARS)) if isinstance(value, str) else value


def _below_the_folder(path: str) -> str:
    if path.startswith("/") or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError("a path below the run's folder has no empty part, no '.' and no '..'")
    return path


def _first_notes(value: Any) -> Any:
    return value[:MAX_NOTES] if isinstance(value, list) else value


Int4 = Annotated[int, Field(ge=0, le=INT4)]  # attempts, steps, counts
Int8 = Annotated[int, Field(ge=0, le=INT8)]  # bytes
Rank = Annotated[int, Field(ge=0, lt=MAX_RANKS)]
Moment = Annotated[float, Field(ge=0, le=LAST_MOMENT, allow_inf_nan=False)]  # seconds since 1970
Duration = Annotated[float, Field(ge=0.0, le=1e9, allow_inf_nan=False)]  # by a clock that nobody sets
Seconds = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]  # a duration, or a difference of clocks
Finite = Annotated[float, Field(allow_inf_nan=False)]
HostName = Annotated[str, Field(pattern=HOST_NAME)]
MetricName = Annotated[str, Field(pattern=METRIC_NAME)]
ArtifactName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
# of a file or folder in the run's folder
PathBelow = Annotated[
    str,
    Field(max_length=MAX_PATH_CHARS, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$"),
    AfterValidator(_below_the_folder),
]
MetricValue = float | None  # NaN and infinities are values; None: no finite number, of an earlier trainer
Line = Annotated[str, BeforeValidator(_line)]  # a sentence for people
Text = Annotated[str, BeforeValidator(_text)]  # several lines for people
Notes = Annotated[list[Line], BeforeValidator(_first_notes)]
