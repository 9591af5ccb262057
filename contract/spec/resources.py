"""The spec of a run's resources: the cluster, and the nodes, cpus and devices of a job."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.many_core import ManyCore, check_many_core
from contract.spec.numbers import Count
from contract.spec.sbatch_options import OptionName, OptionValue, check_exclusive, check_options
from contract.validation import ValidationIssue

# These values are written to #SBATCH lines, so no value may contain whitespace or shell syntax.
SbatchWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.,:;=&|*()\[\]@+-]+$", max_length=200)]


class Local(Spec):
    """The local machine: one process group per job, all ranks on one node."""

    kind: Literal["local"] = "local"
    ranks_per_node: Annotated[int, Field(ge=1, le=128)] = 1
    """Number of ranks."""
    gpus_per_rank: Annotated[int, Field(ge=1, le=64)] | None = Field(default=None, examples=[1])
    """Number of GPUs of each rank; null: every rank sees all GPUs. A rank sees the GPUs of all ranks of its node."""

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
    partition: SbatchWord | None = Field(default=None, examples=["gpu"])
    """Partition, or several separated by commas; null: the cluster's default partition."""
    nodes: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Number of nodes."""
    ranks_per_node: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of ranks on each node; 1 with `many_core`, which determines the ranks."""
    cpus_per_rank: Count = 1
    """Number of cpus of each rank, as Slurm counts cpus; 1 with `many_core`, which determines the cpus."""
    gres: SbatchWord | None = Field(default=None, examples=["gpu:4"])
    """Generic resources per node; null: none."""
    gpus_per_rank: Annotated[int, Field(ge=1, le=64)] | None = Field(default=None, examples=[1])
    """Number of GPUs of each rank, requested per node as `gres`; null: only `gres` counts. A rank sees the GPUs of all
    ranks of its node, and takes its own by LOCAL_RANK."""
    constraint: SbatchWord | None = Field(default=None, examples=["knl&quad"])
    """Required node features; null: none."""
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 365)] = 60
    """Time limit of each attempt, in minutes."""
    memory_gb: Count | None = Field(default=None, examples=[64])
    """Memory per node in GiB; null: the cluster's default."""
    account: SbatchWord | None = Field(default=None, examples=["physics"])
    """Account that pays for the job; null: the user's default account."""
    qos: SbatchWord | None = Field(default=None, examples=["normal"])
    """Quality of service; null: the user's default."""
    many_core: ManyCore | None = None
    """Division of many-core chips; null: `ranks_per_node` ranks, with the site's binding."""
    options: Annotated[dict[OptionName, OptionValue], Field(max_length=50)] = Field(
        default={}, examples=[{"reservation": "course", "exclusive": True}]
    )
    """Further options of sbatch, without the dashes; true for an option without a value."""

    def __hash__(self) -> int:
        """Return a hash, which the options, a dictionary, do not have themselves."""
        return hash(self.model_dump_json())

    @property
    def node_ranks(self) -> int:
        """The number of ranks on each node."""
        return self.many_core.chips * self.many_core.parts if self.many_core else self.ranks_per_node

    @property
    def devices(self) -> str | None:
        """The generic resources per node, with the GPUs of the node's ranks; None without any."""
        gpus = [f"gpu:{self.gpus_per_rank * self.node_ranks}"] if self.gpus_per_rank else []
        return ",".join([*filter(None, [self.gres]), *gpus]) or None

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


def check_resources(need: Resources) -> Iterator[ValidationIssue]:
    """Yield an issue for each field of the resources that conflicts with another field or with the service."""
    if need.kind == "local":
        return
    if need.many_core:
        asked = {"ranks_per_node": need.ranks_per_node, "cpus_per_rank": need.cpus_per_rank}
        yield from check_many_core(need.many_core, **asked, constraint=need.constraint)
    if need.gpus_per_rank and re.search(r"(^|,)(gres:)?gpu\b", need.gres or "", re.I):
        message = f"`gpus_per_rank` requests the GPUs already: {need.gpus_per_rank} x {need.node_ranks} ranks per node"
        yield ValidationIssue(path="gres", message=message)
    yield from check_options(need.options)
    yield from check_exclusive(need.options, memory_gb=need.memory_gb)
