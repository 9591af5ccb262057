"""Where a run is carried out and what it asks of that place."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.many_core import ManyCore
from contract.spec.numbers import Count

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
    def node_ranks(self) -> int:
        """How many ranks are on each node."""
        return self.ranks_per_node

    @property
    def world(self) -> int:
        """How many ranks train together."""
        return self.ranks_per_node


class Slurm(Spec):
    """A Slurm partition, GPU or many-core; the fields are sbatch's own options.

    With `many_core` a node has chips x parts ranks, and each part its share of a chip's cpus.
    """

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
    many_core: ManyCore | None = None  # none: ranks as stated above, bound as the site has it

    @property
    def node_ranks(self) -> int:
        """How many ranks are on each node."""
        return self.many_core.chips * self.many_core.parts if self.many_core else self.ranks_per_node

    @property
    def rank_cpus(self) -> int:
        """How many cpus each rank has, as Slurm counts them."""
        return self.many_core.cpus // self.many_core.parts if self.many_core else self.cpus_per_rank

    @property
    def features(self) -> str | None:
        """All features that a node must have, in Slurm's grammar."""
        asked = [*filter(None, [self.constraint]), *(self.many_core.features if self.many_core else [])]
        return "&".join(asked) or None

    @property
    def world(self) -> int:
        """How many ranks train together."""
        return self.nodes * self.node_ranks


Resources = Annotated[Local | Slurm, Field(discriminator="kind")]
