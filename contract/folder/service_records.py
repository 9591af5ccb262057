"""What a service writes beside its run folders, so that a database that is older than them can be brought up to them.

.services/ID/mark.json             the highest ids that the service has given, and the count of these marks
.services/ID/experiment-N.json     experiment N and the runs of it that were submitted

ID is the identity of the service's database. The keys of its runs begin with it, and so do the names of its jobs and
run folders: services that share a cluster's account or a folder of runs know their own.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from contract.folder.bounds import INT8
from contract.folder.files.atomic_file import write_atomic
from contract.folder.files.untrusted_file import list_folder, read_file
from contract.folder.record import FolderRecord
from contract.private_files import make_private_folder

SERVICES = ".services"
MARK, MARK_BYTES = "mark.json", 1 << 12
EXPERIMENT, EXPERIMENT_BYTES = re.compile(r"experiment-([0-9]{1,18})\.json"), 1 << 26
RUN_FOLDER = re.compile(r"([0-9]{6,18})-([0-9a-f]{12,20})")
JOB_NAME = re.compile(r"bigbatch-([0-9a-f]{12,20})-([0-9]{1,9})(?:\.[0-9]{1,9})?")
IDENTITY_CHARS = 8


class Mark(FolderRecord):
    """How far the ids of a service have come."""

    count: int = Field(ge=0, le=INT8)  # of the marks that were written; the database has the same count
    experiments: int = Field(ge=0, le=INT8)
    runs: int = Field(ge=0, le=INT8)


class RecordedMember(FolderRecord):
    """A run of a recorded experiment; its spec is in its folder."""

    id: int = Field(ge=1, le=INT8)
    key: str = Field(min_length=12, max_length=24)
    number: int = Field(ge=0, le=INT8)
    values: dict[str, Any]


class ExperimentRecord(FolderRecord):
    """An experiment as it was submitted."""

    id: int = Field(ge=1, le=INT8)
    name: str
    description: str
    spec: dict[str, Any]
    max_parallel: int | None
    pack: int | None
    notes: str
    owner: str
    project: str
    runs: list[RecordedMember]


class FoundFolder(NamedTuple):
    """A run folder of a service."""

    run_id: int
    key: str
    path: Path


def write_mark(root: Path, identity: str, mark: Mark) -> None:
    """Store the mark of a service; may raise OSError."""
    write_atomic(_folder(root, identity), MARK, mark.model_dump_json(), mode=0o600)


def read_mark(root: Path, identity: str) -> Mark | None:
    """Return the mark of a service; None without a whole one. May raise OSError."""
    try:
        return Mark.model_validate_json(read_file(root / SERVICES / identity, MARK, MARK_BYTES))
    except (FileNotFoundError, ValidationError):
        return None


def write_experiment(root: Path, identity: str, record: ExperimentRecord) -> None:
    """Store what an experiment is; may raise OSError."""
    write_atomic(_folder(root, identity), f"experiment-{record.id}.json", record.model_dump_json(), mode=0o600)


def remove_experiment(root: Path, identity: str, experiment_id: int) -> None:
    """Remove the record of an experiment, if there is one; may raise OSError."""
    (root / SERVICES / identity / f"experiment-{experiment_id}.json").unlink(missing_ok=True)


def read_experiments(root: Path, identity: str) -> Iterator[ExperimentRecord]:
    """Yield the recorded experiments of a service that can be read, by their ids; may raise OSError."""
    for number in experiment_ids(root, identity):
        try:
            yield ExperimentRecord.model_validate_json(
                read_file(root / SERVICES / identity, f"experiment-{number}.json", EXPERIMENT_BYTES)
            )
        except (FileNotFoundError, ValidationError):
            continue


def experiment_ids(root: Path, identity: str) -> list[int]:
    """Return the ids of the recorded experiments of a service, ascending; may raise OSError."""
    try:
        names = list_folder(root / SERVICES, identity)
    except FileNotFoundError:
        return []
    return sorted(int(found[1]) for name in names if (found := EXPERIMENT.fullmatch(name)))


def run_folders(root: Path, identity: str) -> list[FoundFolder]:
    """Return the run folders of a service, by the ids of their runs; may raise OSError."""
    if not root.is_dir():
        return []
    found = [match for name in list_folder(root, "") if (match := RUN_FOLDER.fullmatch(name))]
    mine = [FoundFolder(int(one[1]), one[2], root / one[0]) for one in found if is_key_of(one[2], identity)]
    return sorted(mine)


def is_key_of(key: str, identity: str) -> bool:
    """Return whether a run's key is one that the service with this identity made."""
    return len(key) > 12 and key.startswith(identity)


def _folder(root: Path, identity: str) -> Path:
    make_private_folder(root / SERVICES)
    make_private_folder(root / SERVICES / identity)
    return root / SERVICES / identity
