"""The chunks of a run over a volume by their states: rank 0 writes the file while the run goes on."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from contract.described_model import DescribedModel
from contract.folder.bounds import INT8

MAX_CHUNKS = 1_000_000
WAITING, LEASED, LABELED, DONE = "w", "l", "m", "d"
StageName = Literal["chunks", "merge", "numbers"]
Number = Annotated[int, Field(ge=0, le=INT8)]


class StageProgress(DescribedModel):
    """How many tasks of a stage are done; a stage begins when the one before it is done."""

    name: StageName = Field(examples=["chunks"])
    """`chunks`: the operators up to `components` on each chunk; `merge`: components over the borders of chunks, one
    task; `numbers`: the components' numbers are written for each chunk."""
    done: Number = Field(examples=[30])
    """Number of tasks that are done."""
    tasks: Number = Field(examples=[64])
    """Number of tasks."""


class ChunkStates(DescribedModel):
    """The chunks of a volume by their states."""

    counts: Annotated[list[Annotated[int, Field(ge=1, le=MAX_CHUNKS)]], Field(min_length=3, max_length=3)] = Field(
        examples=[[1, 1, 4]]
    )
    """Number of chunks along z, y and x."""
    states: Annotated[str, Field(pattern=r"^[wlmd]*$", max_length=MAX_CHUNKS)] = Field(examples=["dllw"])
    """One letter for each chunk, x first: w: waits, l: a worker holds it, m: labeled, d: done."""
    stages: Annotated[list[StageProgress], Field(max_length=3)]
    """The stages of the run."""
    taken_over: Number = Field(examples=[2])
    """Number of leases that ended without a result, after which another worker took the task."""

    @model_validator(mode="after")
    def _check_length(self) -> "ChunkStates":
        z, y, x = self.counts
        if len(self.states) != z * y * x:
            raise ValueError(f"{z} x {y} x {x} chunks have {len(self.states)} states")
        return self
