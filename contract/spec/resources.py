"""The spec of a run's resources: the cluster, and the nodes, cpus and devices of a job."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.many_core import ManyCore
from contract.spec.numbers import Count

# These values are written to #SBATCH lines, so no value may contain whitespace or shell syntax.
SbatchWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.,:;=&|*()\[\]@+-]+$", max_length=200)]


class Local(Spec):
    """The local machine: one process group per job, all ranks on one node."""

    kind: Literal["local"] = "local"
    ranks_per_node: Annotated[int, Field(ge=1, le=128)] = 1

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 1

    @property
    def node_ranks(self) -> int:
        """The number of ranks on each node."""
        return self.ranks_per_node

    @property
    def world(self) -> int:
        """The total number of ranks."""
        return self.ranks_per_node


class Slurm(Spec):
    """A Slurm cluster; the fields are options of sbatch.

    With `many_core` a node has chips x parts ranks, and each rank has an equal share of a chip's cpus.
    """

    kind: Literal["slurm"] = "slurm"
    partition: SbatchWord | None = None  # None: the cluster's default partition
    nodes: Annotated[int, Field(ge=1, le=10_000)] = 1
    ranks_per_node: Annotated[int, Field(ge=1, le=1024)] = 1
    cpus_per_rank: Count = 1
    gres: SbatchWord | None = None  # per node, "gpu:4"
    constraint: SbatchWord | None = None  # required node features, "knl&quad"
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 365)] = 60
    memory_gb: Count | None = None  # per node
    account: SbatchWord | None = None
    qos: SbatchWord | None = None
    many_core: ManyCore | None = None  # None: ranks_per_node ranks, with the site's binding

    @property
    def node_ranks(self) -> int:
        """The number of ranks on each node."""
        return self.many_core.chips * self.many_core.parts if self.many_core else self.ranks_per_node

    @property
    def rank_cpus(self) -> int:
        """The number of cpus of each rank, as Slurm counts cpus."""
        return self.many_core.cpus // self.many_core.parts if self.many_core else self.cpus_per_rank

    @property
    def features(self) -> str | None:
        """All required node features, in Slurm's syntax; None without any."""
        asked = [*filter(None, [self.constraint]), *(self.many_core.features if self.many_core else [])]
        return "&".join(asked) or None

    @property
    def world(self) -> int:
        """The total number of ranks."""
        return self.nodes * self.node_ranks


Resources = Annotated[Local | Slurm, Field(discriminator="kind")]
