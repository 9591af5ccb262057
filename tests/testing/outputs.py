"""The record of a run's outputs, as a job leaves it."""

from pathlib import Path

from contract.folder.files.atomic_file import write_atomic
from contract.folder.outputs.record import OutputsRecord
from runfiles import names


def write_outputs(folder: Path, record: OutputsRecord) -> None:
    """Store the record."""
    write_atomic(folder, names.OUTPUTS, record.model_dump_json())
