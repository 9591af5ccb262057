"""The spec of many-core chips: each chip is divided into parts, and each part trains a replica.

The method is from You, Buluç & Demmel, 2017, section 6.2. The modes are those of Knights Landing; Slurm has a node
feature for each mode (knl.conf(5)). Parts and cpus apply to any chip.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive
from contract.validation import ValidationIssue

ClusterMode = Literal["quad", "hemi", "a2a", "snc2", "snc4"]
MemoryMode = Literal["cache", "flat", "hybrid"]
MCDRAM_GIB: dict[str, float] = {
    "flat": 16,
    "hybrid": 8,
}  # directly addressable fast memory; in cache mode no fast memory is addressable
MEMORY_FEATURES = {"cache": "cache", "flat": "flat", "hybrid": "equal"}  # hybrid: half cache, half memory
CLUSTER_FEATURES = ("quad", "hemi", "a2a", "snc2", "snc4")


class ManyCore(Spec):
    """The chips of a node and their modes; the run has its nodes for itself."""

    cpus: Count = Field(examples=[272])
    """Number of cpus per chip, as Slurm counts cpus; divided evenly over the parts."""
    parts: Annotated[int, Field(ge=1, le=1024)] = 1
    """P: number of replicas per chip, each bound to its own cores."""
    chips: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of chips per node."""
    cluster_mode: ClusterMode | None = None
    """Which memory is the nearest to a tile's cores; null: the nodes' present mode."""
    memory_mode: MemoryMode | None = None
    """Use of MCDRAM, the fast memory on the chip; null: the nodes' present mode."""
    fast_memory_gb: Positive | None = Field(default=None, examples=[16.0])
    """Fast memory per chip in GiB; null: 16 if memory_mode is flat, 8 if hybrid."""

    @property
    def features(self) -> list[str]:
        """The node features of the modes, in Slurm's notation."""
        return [
            *filter(None, [self.cluster_mode]),
            *(MEMORY_FEATURES[mode] for mode in filter(None, [self.memory_mode])),
        ]

    @property
    def fast_gib(self) -> float | None:
        """The fast memory of a chip in GiB; None if not known or used as a cache."""
        return self.fast_memory_gb or MCDRAM_GIB.get(self.memory_mode or "")

    @property
    def uses_fast_nodes(self) -> bool:
        """Whether the fast memory is a separate NUMA node, which a process can prefer."""
        return self.memory_mode in MCDRAM_GIB


def check_many_core(
    many_core: ManyCore, *, ranks_per_node: int, cpus_per_rank: int, constraint: str | None
) -> Iterator[ValidationIssue]:
    """Yield an issue for each field of the resources that conflicts with many_core."""
    if ranks_per_node != 1:
        ranks = f"chips {many_core.chips} x parts {many_core.parts} = {many_core.chips * many_core.parts} ranks"
        message = f"remove this field: with many_core a node has {ranks}"
        yield ValidationIssue(path="ranks_per_node", message=message)
    if cpus_per_rank != 1:
        message = f"remove this field: with many_core a rank has {many_core.cpus} cpus / {many_core.parts} parts"
        yield ValidationIssue(path="cpus_per_rank", message=message)
    if many_core.parts > many_core.cpus:
        message = f"{many_core.parts} parts need one cpu each, but a chip has {many_core.cpus}"
        yield ValidationIssue(path="many_core.parts", message=message)
    if constraint and many_core.features:
        yield from _constraint_conflicts(many_core, constraint)


def _constraint_conflicts(many_core: ManyCore, constraint: str) -> Iterator[ValidationIssue]:
    """Yield an issue for a constraint that cannot be combined with the modes, or that contradicts them."""
    if set("|[]()*") & set(constraint):
        message = (
            f"Slurm combines chip modes only with &, but {constraint!r} has other operators: remove modes or constraint"
        )
        yield ValidationIssue(path="constraint", message=message)
        return
    named = set(constraint.replace(",", "&").split("&"))
    for field, mode, known in (
        ("cluster_mode", many_core.cluster_mode, CLUSTER_FEATURES),
        ("memory_mode", MEMORY_FEATURES.get(many_core.memory_mode or ""), tuple(MEMORY_FEATURES.values())),
    ):
        if mode and (others := sorted(named & set(known) - {mode})):
            message = f"the constraint requests {others[0]}, but many_core.{field} requests {mode}"
            yield ValidationIssue(path="constraint", message=message)
