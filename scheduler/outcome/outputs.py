"""What a run's record of its outputs shows: the artifacts that are stored, and the output that is missing."""

from collections.abc import Mapping

from contract.folder.outputs.record import OUTPUTS, OutputsRecord, RecordedArtifact
from contract.folder.stored_checkpoints import FOLDER, NAME
from contract.lifecycle.artifact import ArtifactKind
from contract.lifecycle.reason import OutputMissing


def accepted_artifacts(wanted: Mapping[str, str], record: OutputsRecord | None) -> dict[str, RecordedArtifact]:
    """Return the recorded outputs that the spec names, at the paths of the spec, and the checkpoints, by name."""
    found: dict[str, RecordedArtifact] = {}
    for artifact in record.artifacts if record else ():
        is_checkpoint = artifact.kind is ArtifactKind.CHECKPOINT
        path = f"{FOLDER}/{artifact.name}" if is_checkpoint else wanted.get(artifact.name)
        if artifact.path == path and is_checkpoint == (NAME.fullmatch(artifact.name) is not None):
            found[artifact.name] = artifact
    return found


def missing_output(wanted: Mapping[str, str], record: OutputsRecord | None) -> OutputMissing | None:
    """Return the first output of the spec that is not recorded, and why; None if all are."""
    found = accepted_artifacts(wanted, record)
    missing = [name for name in wanted if name not in found]
    if not missing:
        return None
    name = missing[0]
    problems = {fault.name: fault.problem for fault in record.faults} if record else {}
    unlisted = f"the job left no {OUTPUTS} that can be read" if record is None else f"{OUTPUTS} does not list it"
    problem = problems.get(name, unlisted)
    return OutputMissing(name=name, path=wanted[name], problem=problem, others=len(missing) - 1)
