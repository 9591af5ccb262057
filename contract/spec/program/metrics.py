"""The spec of sources of a program's metrics besides `bigbatch.log`: agent/sources reads them while they grow."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from contract.folder.bounds import METRIC_NAME
from contract.spec.base import Spec

MAX_SOURCES = 20
MAX_GROUPS = 50  # named groups of one expression
STEP_GROUP = "step"
SourcePath = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]+$")]


def _check_pattern(pattern: str) -> str:
    """Return a regular expression that has named groups besides the step's; raise ValueError."""
    try:
        groups = set(re.compile(pattern).groupindex)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    if not groups - {STEP_GROUP}:
        raise ValueError(f"{pattern!r} names no metric: write a named group, as in loss=(?P<loss>[-+.0-9e]+)")
    if len(groups) > MAX_GROUPS:
        raise ValueError(f"{pattern!r} has {len(groups)} named groups, and at most {MAX_GROUPS} are read")
    return pattern


class TensorBoard(Spec):
    """The scalars of TensorBoard's event files."""

    kind: Literal["tensorboard"] = "tensorboard"
    folder: SourcePath | None = Field(default=None, examples=["tensorboard"])
    """Folder with the event files, also in folders below it: a path in the run's folder, or an absolute path, of which
    only what is written after the start is read; null: the run's folder."""


class JsonLines(Spec):
    """A file with one JSON object in each line; each number in it is a metric, nested ones as `train/loss`."""

    kind: Literal["json_lines"] = "json_lines"
    file: SourcePath = Field(examples=["metrics.jsonl"])
    """The file: a path in the run's folder, or an absolute path, of which only what is written after the start is
    read."""
    step: Annotated[str, Field(pattern=METRIC_NAME)] = "step"
    """Name of the field with the step; lines without it count up from 1."""


class Output(Spec):
    """Lines of the program's output that match a regular expression."""

    kind: Literal["output"] = "output"
    pattern: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_check_pattern)] = Field(
        examples=[r"step (?P<step>\d+) loss (?P<loss>\S+)"]
    )
    """Regular expression of Python. Each named group is a metric; the group `step` is the step, without which the
    matching lines count up from 1."""


MetricSource = Annotated[TensorBoard | JsonLines | Output, Field(discriminator="kind")]
MetricSources = Annotated[list[MetricSource], Field(max_length=MAX_SOURCES)]
