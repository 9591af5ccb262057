"""References to other steps of a workflow: `{steps.train.best.heldout_accuracy}` in a field of a later step's run.

A reference names a step, which of its runs count (`best`, `last` or `all`; without a word: the step's only run), and
what is wanted of them. Double braces are no reference: `{{steps.a.run}}` stands for the text itself.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

STEP_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
REFERENCE = re.compile(r"\{\{steps\.[^{}]*\}\}|\{steps\.([^{}]*)\}")
MAX_LENGTH = 300
FORMS = "{steps.NAME.outputs.OUTPUT}, {steps.NAME.best.METRIC} or {steps.NAME.best.spec.FIELD}"


class Selection(StrEnum):
    """Which runs of a step a reference is about."""

    ONLY = "only"  # the step has one run
    BEST = "best"
    LAST = "last"
    ALL = "all"


class Wanted(StrEnum):
    """What a reference stands for."""

    OUTPUT = "outputs"  # path of a named output
    CHECKPOINT = "checkpoint"  # path of the newest checkpoint
    FOLDER = "folder"  # path of the run folder
    RUN = "run"  # id of the run
    SPEC = "spec"  # a field of the run's spec
    METRIC = "metric"


class Reference(NamedTuple):
    """One reference, without its braces."""

    step: str
    selection: Selection
    wanted: Wanted
    name: str = ""  # of the output or the metric, or the dotted path of the field

    @property
    def text(self) -> str:
        """The reference as a spec has it."""
        words = [self.step]
        words += [] if self.selection is Selection.ONLY else [self.selection.value]
        words += [] if self.wanted is Wanted.METRIC else [self.wanted.value]
        return f"{{steps.{'.'.join([*words, *([self.name] if self.name else [])])}}}"


class FoundReference(NamedTuple):
    """A reference at its place in a document."""

    path: str
    inside: str  # of the braces, after `steps.`
    is_whole: bool  # whether the value is the reference and nothing else


class ReferenceIssue(ValueError):
    """A reference that cannot be read, with the reason."""


def parse_reference(inside: str) -> Reference:
    """Return the reference with this text after `steps.`; raise ReferenceIssue."""
    if len(inside) > MAX_LENGTH:
        raise ReferenceIssue(f"a reference has at most {MAX_LENGTH} characters, and this one has {len(inside):,}")
    step, _, rest = inside.partition(".")
    shown = f"{{steps.{inside}}}"
    if not re.fullmatch(STEP_NAME, step) or not rest:
        raise ReferenceIssue(f"{shown} is no reference: expected {FORMS}")
    first, _, further = rest.partition(".")
    selection = Selection.ONLY
    if first in (Selection.BEST, Selection.LAST, Selection.ALL):
        selection, rest = Selection(first), further
    wanted, name = _wanted(rest)
    if wanted is Wanted.METRIC and (selection is Selection.ONLY or not name):
        raise ReferenceIssue(f"{shown} is no reference: expected {FORMS}, with best, last or all before a metric")
    if wanted in (Wanted.OUTPUT, Wanted.SPEC) and not name:
        raise ReferenceIssue(f"{shown} lacks the name after {wanted}")
    return Reference(step, selection, wanted, name)


def _wanted(rest: str) -> tuple[Wanted, str]:
    first, _, further = rest.partition(".")
    if first == "parameters" and further:
        return Wanted.SPEC, rest
    if first in (Wanted.OUTPUT, Wanted.SPEC):
        return Wanted(first), further
    if rest in (Wanted.CHECKPOINT, Wanted.FOLDER, Wanted.RUN):
        return Wanted(rest), ""
    return Wanted.METRIC, rest


def find_references(document: Any, path: str = "") -> Iterator[FoundReference]:
    """Yield every reference in the texts of a document, with its dotted path."""
    if isinstance(document, str):
        for found in REFERENCE.finditer(document):
            if found[1] is not None:
                yield FoundReference(path, found[1], found[0] == document)
    elif isinstance(document, Mapping):
        for name, value in document.items():
            yield from find_references(value, f"{path}.{name}" if path else str(name))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from find_references(value, f"{path}.{index}" if path else str(index))


def has_references(document: Any) -> bool:
    """Return whether any text of the document has a reference."""
    return next(find_references(document), None) is not None
