"""The spec of any stored run: one that a cluster carries out, or one that was carried out elsewhere."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from contract.spec.any_run import AnyRun, kind_of, read_run
from contract.spec.program.run import ProgramSpec
from contract.spec.recorded.run import RecordedSpec
from contract.spec.run import RunSpec

StoredRun = Annotated[
    Annotated[RunSpec, Tag("engine")]
    | Annotated[ProgramSpec, Tag("program")]
    | Annotated[RecordedSpec, Tag("recorded")],
    Discriminator(kind_of),
]


def is_recorded(document: Mapping[str, Any] | None) -> bool:
    """Return whether the document is the spec of a run that was carried out elsewhere; a workflow has no base."""
    return document is not None and document.get("kind") == "recorded"


def read_stored_run(document: Mapping[str, Any]) -> AnyRun | RecordedSpec:
    """Return the run that a stored document describes."""
    return RecordedSpec.model_validate(document) if is_recorded(document) else read_run(document)
