"""The spec of sources of a program's metrics besides `bigbatch.log`: agent/sources reads them while they grow."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from contract.folder.bounds import METRIC_NAME, Rank
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


def _check_rank(rank: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Return a rank, or a word in its place; raise ValueError with one message, not with one for each kind of value."""
    try:
        return check(rank)
    except ValidationError:
        raise ValueError(f"{rank!r:.100} is no rank: write a number from 0, `mean` or `any`") from None


class TensorBoard(Spec):
    """The scalars of TensorBoard's event files."""

    kind: Literal["tensorboard"] = "tensorboard"
    folder: SourcePath | None = Field(default=None, examples=["tensorboard"])
    """Folder with the event files, also in folders below it: a path in the run's folder, else in the folder in which
    the program starts, or an absolute path, of which only what is written after the start is read; null: the run's
    folder."""


class JsonLines(Spec):
    """A file with one JSON object in each line; each number in it is a metric, nested ones as `train/loss`."""

    kind: Literal["json_lines"] = "json_lines"
    file: SourcePath = Field(examples=["metrics.jsonl"])
    """The file: a path in the run's folder, else in the folder in which the program starts, or an absolute path, of
    which only what is written after the start is read."""
    step: Annotated[str, Field(pattern=METRIC_NAME)] = "step"
    """Name of the field with the step; lines without it count up from 1."""


class Output(Spec):
    """Lines of the program's output that match a regular expression: those of rank 0, or of the rank that is named."""

    kind: Literal["output"] = "output"
    pattern: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_check_pattern)] = Field(
        examples=[r"step (?P<step>\d+) loss (?P<loss>\S+)"]
    )
    """Regular expression of Python. Each named group is a metric; the group `step` is the step, without which the
    matching lines count up from 1."""
    # absent where it is 0, so that runs from before the field have the document and the key that they had
    rank: Annotated[Rank | Literal["mean", "any"], WrapValidator(_check_rank)] = Field(
        default=0, examples=[3], exclude_if=lambda value: value == 0
    )
    """The rank whose lines are read; `mean`: the mean over the ranks that print a step, which is stored once all of
    them have printed a later step or have ended; `any`: the lines of all ranks as one stream, for programs in which
    each step is printed by one rank alone."""


MetricSource = Annotated[TensorBoard | JsonLines | Output, Field(discriminator="kind")]
MetricSources = Annotated[list[MetricSource], Field(max_length=MAX_SOURCES)]
