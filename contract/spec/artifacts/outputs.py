"""The outputs of a run that its spec names, and where they are in the run's folder."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from contract.folder.bounds import MAX_OUTPUTS, MAX_PATH_CHARS
from contract.validation import ValidationIssue

# a dotted reference can name it, and no checkpoint's name matches
OutputName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
OutputPath = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
Outputs = Annotated[dict[OutputName, OutputPath], Field(max_length=MAX_OUTPUTS)]
# files that the service and the job write (contract/folder): most of them change after the end of the last rank
OF_THE_SERVICE = frozenset(
    {
        *("spec.json", "events.jsonl", "points", "times.csv", "times", "collective.json", "binding.json"),
        *("chunks.json", "volume"),
        *("lost.jsonl", "out.log", "attempts", "submission", "outputs.json", "parameters.json", "parameters.yaml"),
    }
)


def check_outputs(outputs: Mapping[str, str]) -> Iterator[ValidationIssue]:
    """Yield an issue for each output whose path is not one of the run's own files."""
    for name, path in outputs.items():
        if message := _fault_of(path):
            yield ValidationIssue(path=f"outputs.{name}", message=message)


def _fault_of(path: str) -> str | None:
    parts = path.split("/")
    if path.startswith("/"):
        return f"'{path}' is absolute: outputs are in the run's folder, and their paths are relative to it"
    if ".." in parts:
        return f"'{path}' has a part '..', and outputs are in the run's folder"
    if "" in parts or "." in parts:
        return f"'{path}' has an empty part or a part '.': leave it out"
    if parts[0] in OF_THE_SERVICE:
        return f"'{parts[0]}' is a file of the service, which changes after the run's end"
    return None
