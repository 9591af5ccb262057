"""The operators that are composed over a volume: each takes what the one before it made of a chunk."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive

MAX_OPERATORS, MAX_EDGE = 100, 65_536
VolumePath = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]+$")]
Edges = Annotated[list[Annotated[int, Field(ge=1, le=MAX_EDGE)]], Field(min_length=3, max_length=3)]  # z, y, x
Overlaps = Annotated[list[Annotated[int, Field(ge=0, lt=MAX_EDGE)]], Field(min_length=3, max_length=3)]
Channel = Annotated[int, Field(ge=0, le=65_535)]


class Read(Spec):
    """Read the voxels of a chunk, and around it what the patches of `infer` need."""

    kind: Literal["read"] = "read"
    path: VolumePath = Field(examples=["/data/em.zarr"])
    """Folder of a volume: Zarr, N5, precomputed, or raw numbers; a relative path is in the run's folder."""


class Normalize(Spec):
    """Subtract a mean and divide by a deviation, the same for the whole volume."""

    kind: Literal["normalize"] = "normalize"
    mean: float = 0.0
    """What is subtracted."""
    deviation: Positive = 1.0
    """By what is divided."""


class Infer(Spec):
    """Apply a net to overlapping patches, and blend their outputs with smooth weights that sum to one."""

    kind: Literal["infer"] = "infer"
    checkpoint: VolumePath | None = Field(default=None, examples=["{steps.train.checkpoint}"])
    """Path of a checkpoint of an engine run, whose net is used; null: the net that returns its input, for checks."""
    patch: Edges = Field(examples=[[32, 32, 32]])
    """Voxels of a patch along z, y and x, at most those of the volume."""
    overlap: Overlaps = Field(examples=[[8, 8, 8]])
    """Voxels that neighboring patches share, less than a patch."""
    probabilities: bool = True
    """Whether the outputs become probabilities of the net's classes (softmax) before they are blended."""
    threads: Count = 1
    """Number of threads of each worker; equal numbers on all workers make equal bits."""


class Threshold(Spec):
    """Make a mask of one channel: 1 where the value is at least `at`, else 0."""

    kind: Literal["threshold"] = "threshold"
    at: float = 0.5
    """Least value inside the mask."""
    channel: Channel = 0
    """The channel, such as the class of `infer`."""


class Components(Spec):
    """Number the connected components of a mask, over the borders of chunks: 1, 2, ... in the order of the chunks."""

    kind: Literal["components"] = "components"
    connectivity: Literal[1, 2, 3] = 1
    """Which voxels are neighbors: 1: those that share a face, 2: an edge too, 3: a corner too."""


class Write(Spec):
    """Write what was made so far, in whole storage blocks."""

    kind: Literal["write"] = "write"
    path: VolumePath = Field(examples=["labels.zarr"])
    """Folder of the new volume; a relative path is in the run's folder, where it may be one of its `outputs`."""
    format: Literal["zarr", "raw"] = "raw"
    """How it is stored: `raw`: plain numbers in a file for each block, with volume.json; `zarr`: Zarr 3."""


Operator = Annotated[Read | Normalize | Infer | Threshold | Components | Write, Field(discriminator="kind")]
Operators = Annotated[list[Operator], Field(min_length=2, max_length=MAX_OPERATORS)]
