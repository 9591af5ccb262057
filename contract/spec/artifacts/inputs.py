"""The inputs of a run that its spec names: files and folders whose contents are a part of what the run computes."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from contract.spec.artifacts.outputs import OutputName
from contract.spec.program.environment import AbsolutePath
from contract.validation import ValidationIssue

MAX_INPUTS = 100
Inputs = Annotated[dict[OutputName, AbsolutePath], Field(max_length=MAX_INPUTS)]


def check_inputs(inputs: Mapping[str, str]) -> Iterator[ValidationIssue]:
    """Yield an issue for each input whose path has a part that depends on the parts before it."""
    for name, path in inputs.items():
        if ".." in path.split("/"):
            yield ValidationIssue(path=f"inputs.{name}", message=f"'{path}' has a part '..': write the path without it")
        if not path.strip("/."):
            yield ValidationIssue(path=f"inputs.{name}", message="an input is a file or a folder, not the whole disk")
