"""Where a run is carried out and what it asks of that place."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec
from contract.numbers import Count

# These words end in an #SBATCH line: one word each, with nothing that could end the line or start another.
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.,:;=&|*()\[\]@+-]+$", max_length=200)]


class Local(Spec):
    """This machine: one process group per job, all ranks on one node."""

    kind: Literal["local"] = "local"
    ranks_per_node: Annotated[int, Field(ge=1, le=128)] = 1

    @property
    def nodes(self) -> int:
        return 1

    @property
    def world(self) -> int:
        """How many ranks train together."""
        return self.ranks_per_node


class Slurm(Spec):
    """A Slurm partition, GPU or many-core; the fields are sbatch's own options."""

    kind: Literal["slurm"] = "slurm"
    partition: Word | None = None  # none: the cluster's default
    nodes: Annotated[int, Field(ge=1, le=10_000)] = 1
    ranks_per_node: Annotated[int, Field(ge=1, le=1024)] = 1
    cpus_per_rank: Count = 1
    gres: Word | None = None  # per node, "gpu:4"
    constraint: Word | None = None  # features a node must have, "knl&quad"
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 365)] = 60
    memory_gb: Count | None = None  # per node
    account: Word | None = None
    qos: Word | None = None

    @property
    def world(self) -> int:
        """How many ranks train together."""
        return self.nodes * self.ranks_per_node


Resources = Annotated[Local | Slurm, Field(discriminator="kind")]
