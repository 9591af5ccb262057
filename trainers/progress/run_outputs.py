"""The record of a run's outputs and checkpoints, which rank 0 writes when all steps are taken."""

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from contract.folder.bounds import MAX_ARTIFACTS, MAX_OUTPUTS
from contract.folder.files.whole_folder import measure_folder
from contract.folder.outputs.content import ContentError, hash_content, hash_file
from contract.folder.outputs.record import OutputFault, OutputsRecord, RecordedArtifact, write_outputs
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import FOLDER as CHECKPOINTS
from contract.folder.stored_checkpoints import MANIFEST, complete_checkpoints
from contract.lifecycle.artifact import ArtifactKind
from contract.spec.run import RunSpec

VISIBLE_S = 10.0  # longest time for which a shared file system may hide what a rank on another host has written
POLL_S = 0.2


def record_outputs(folder: RunFolder, attempt: int, run: RunSpec) -> bool:
    """Hash the outputs that the spec names, and record them with the checkpoints; return whether there is a record.

    The heartbeat goes on meanwhile, from its thread. May raise OSError.
    """
    artifacts, faults = list(_checkpoints(folder)), list[OutputFault]()
    until = time.monotonic() + (VISIBLE_S if run.resources.nodes > 1 else 0.0)
    for name, path in run.outputs.items():
        found = _record_output(folder, name, path, until)
        if isinstance(found, RecordedArtifact):
            artifacts.append(found)
        else:
            faults.append(found)
    if not (artifacts or faults):
        return False
    write_outputs(folder.path, OutputsRecord(attempt=attempt, artifacts=artifacts, faults=faults))
    return True


def _record_output(folder: RunFolder, name: str, path: str, until: float) -> RecordedArtifact | OutputFault:
    while True:
        try:
            content = hash_content(folder.path, path)
        except ContentError as error:
            if time.monotonic() >= until:
                return OutputFault(name=name, path=path, problem=str(error))
        else:
            return RecordedArtifact(name=name, path=path, **content._asdict())
        time.sleep(POLL_S)


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
