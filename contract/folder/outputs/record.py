"""The record of a run's outputs: outputs.json, which the job writes at its end, before it reports that it finished."""

from pathlib import Path

from pydantic import Field, TypeAdapter

from contract.folder.bounds import (
    MAX_ARTIFACTS,
    MAX_OUTPUTS,
    ArtifactName,
    Int4,
    Int8,
    Line,
    PathBelow,
    Sha256,
)
from contract.folder.files.untrusted_file import read_file
from contract.folder.record import FolderRecord, read_record
from contract.lifecycle.artifact import ArtifactKind
from runfiles import names

OUTPUTS, MAX_BYTES = names.OUTPUTS, 1 << 22


class RecordedArtifact(FolderRecord):
    """An output, or a checkpoint, as the job found it at its end."""

    name: ArtifactName
    kind: ArtifactKind
    path: PathBelow
    size_bytes: Int8  # of all its files
    files: Int4
    sha256: Sha256  # runfiles/content.py; of a checkpoint: of its manifest, which has those of its parts


class OutputFault(FolderRecord):
    """An output that the job could not record."""

    name: ArtifactName
    path: Line
    problem: Line


class OutputsRecord(FolderRecord):
    """The artifacts of one attempt."""

    attempt: Int4
    artifacts: list[RecordedArtifact] = Field(default=[], max_length=MAX_ARTIFACTS)
    faults: list[OutputFault] = Field(default=[], max_length=MAX_OUTPUTS)


_RECORD = TypeAdapter(OutputsRecord)


def read_outputs(folder: Path) -> OutputsRecord:
    """Return the record; raise FileNotFoundError, ValueError for a damaged one, or another OSError."""
    return read_record(_RECORD, read_file(folder, OUTPUTS, MAX_BYTES))
