"""The API's responses about what runs leave."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel
from contract.lifecycle.artifact import ArtifactKind, CopyState, RemovalCause

EXAMPLE_SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
MOMENT = "2026-11-23T08:00:00Z"


class ArtifactCopy(DescribedModel):
    """The copy of an artifact in the object store."""

    state: CopyState
    """Whether it is complete."""
    store: str | None = Field(examples=["s3://team/artifacts"])
    """URL of the store that has it, or a part of it; null if nothing is written yet."""
    copied_at: datetime | None = Field(examples=[MOMENT])
    """When it was complete and read back; null before."""
    sentence: str = Field(examples=["copied to s3://team/artifacts on 2026-11-23 08:00:05 UTC and read back"])
    """The state in one sentence."""


class ObjectStoreState(DescribedModel):
    """The object store that gets a copy of every artifact."""

    url: str = Field(examples=["s3://team/artifacts"])
    """Its URL in the settings."""
    works: bool = Field(examples=[True])
    """Whether the last try was a success."""
    sentence: str | None = Field(examples=[None])
    """Since when and how it fails, and when the service tries again; null while it works."""


class ArtifactView(DescribedModel):
    """An output that a run's spec names, or a checkpoint of an engine run."""

    name: str = Field(examples=["model"])
    """Name of the output in the spec, or of the checkpoint."""
    kind: ArtifactKind
    """What it is."""
    attempt: int = Field(examples=[1])
    """Number of the attempt that recorded it; 0 if the run took it from another run."""
    run: int = Field(examples=[42])
    """Id of the run in whose folder it is: of another run, if this run took its result."""
    path: str = Field(examples=["out/model.pt"])
    """Path in the folder of that run."""
    size_bytes: int = Field(examples=[102_400])
    """Size of all its files."""
    files: int = Field(examples=[1])
    """Number of its files."""
    sha256: str = Field(examples=[EXAMPLE_SHA])
    """Hash of the file; of a folder, of the names and hashes of its files; of a checkpoint, of its manifest."""
    created_at: datetime = Field(examples=[MOMENT])
    """When it was stored, at the end of the run."""
    removed_at: datetime | None = Field(examples=[None])
    """When it was removed; null while it is there."""
    removed_because: RemovalCause | None = Field(examples=[None])
    """Why it was removed; null while it is there."""
    mirror: ArtifactCopy | None
    """Its copy in the object store; null if there is none and the service has no object store."""


class RunArtifacts(DescribedModel):
    """The artifacts of a run: those of the newest attempt first, then by name; removed ones too."""

    items: list[ArtifactView]
    """The artifacts."""
    taken_from: int | None = Field(examples=[None])
    """Id of the run whose result this run took; null if it was carried out itself."""
    object_store: ObjectStoreState | None
    """The object store of the service; null without one."""
