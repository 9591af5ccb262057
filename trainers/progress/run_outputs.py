"""The record of a run's outputs and checkpoints, which rank 0 writes when all steps are taken."""

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from contract.folder.bounds import MAX_ARTIFACTS, MAX_OUTPUTS
from contract.folder.files.whole_folder import measure_folder
from contract.folder.outputs.content import ContentError, hash_file
from contract.folder.outputs.record import RecordedArtifact
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import FOLDER as CHECKPOINTS
from contract.folder.stored_checkpoints import MANIFEST, complete_checkpoints
from contract.lifecycle.artifact import ArtifactKind
from contract.spec.run import RunSpec
from runfiles import outputs


def record_outputs(folder: RunFolder, attempt: int, run: RunSpec) -> bool:
    """Hash the outputs that the spec names, and record them with the checkpoints; return whether there is a record."""
    checkpoints = [found.model_dump(mode="json") for found in _checkpoints(folder)]
    return outputs.record_outputs(folder.path, attempt, run.outputs, hosts=run.resources.nodes, more=checkpoints)


def _checkpoints(folder: RunFolder) -> Iterator[RecordedArtifact]:
    """Yield the newest complete checkpoints. The hash of a manifest stands for its parts: it has their hashes."""
    for found in islice(complete_checkpoints(folder.path), MAX_ARTIFACTS - MAX_OUTPUTS):
        path = f"{CHECKPOINTS}/{found.name}"
        with suppress(ContentError, OSError):  # the attempt that reads a damaged checkpoint says so
            digest = hash_file(folder.path, f"{path}/{MANIFEST}")
            size = measure_folder(folder.path / path, until=math.inf)
            yield RecordedArtifact(
                name=found.name,
                kind=ArtifactKind.CHECKPOINT,
                path=path,
                size_bytes=size.size_bytes,
                files=size.files,
                sha256=digest,
            )
