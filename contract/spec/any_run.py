"""A run of either kind: an engine run, which trains with this project's engine, or a run of the user's own program."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec


def kind_of(value: Any) -> str:
    """Return the kind of a run or of its document: engine where the document names none."""
    kind = value.get("kind", "engine") if isinstance(value, Mapping) else getattr(value, "kind", "engine")
    return kind if isinstance(kind, str) else ""  # what is no text is no kind


AnyRun = Annotated[Annotated[RunSpec, Tag("engine")] | Annotated[ProgramSpec, Tag("program")], Discriminator(kind_of)]


def read_run(document: Mapping[str, Any]) -> RunSpec | ProgramSpec:
    """Return the run that a document describes; raise ValidationError. A document without `kind` is an engine run."""
    model = ProgramSpec if document.get("kind") == "program" else RunSpec
    return model.model_validate(document)
