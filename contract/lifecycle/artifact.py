"""Artifacts: the kinds of what a run leaves, why one is no longer there, the states of its copy in the object store."""

from enum import StrEnum


class ArtifactKind(StrEnum):
    """The kinds of artifacts.

    file, folder: an output that the spec names. checkpoint: a complete checkpoint of an engine run.
    """

    FILE = "file"
    FOLDER = "folder"
    CHECKPOINT = "checkpoint"


class RemovalCause(StrEnum):
    """Why an artifact is not there.

    replaced: a later attempt of the run wrote it anew, or deleted it. retention: the run's `keep` allowed its removal.
    run_deleted: the run in whose folder it was is deleted. absent: its files were not found when they were needed.
    """

    REPLACED = "replaced"
    RETENTION = "retention"
    RUN_DELETED = "run_deleted"
    ABSENT = "absent"


class CopyState(StrEnum):
    """The states of an artifact's copy in the object store.

    waiting: it is not complete. mirrored: what the store has was read back, and has the artifact's hash. faulty: the
    files cannot be copied, because they changed or are gone. removing: the copy is to be removed.
    """

    WAITING = "waiting"
    MIRRORED = "mirrored"
    FAULTY = "faulty"
    REMOVING = "removing"
