"""A chip of many cores, cut into parts that each train a replica (You, Buluç & Demmel, 2017, section 6.2).

The modes are Knights Landing's; Slurm has a feature of a node for each (knl.conf(5)). Parts and cores are any chip's.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive
from contract.validation import Fault

ClusterMode = Literal["quad", "hemi", "a2a", "snc2", "snc4"]  # which memory a tile's cores reach the fastest
MemoryMode = Literal["cache", "flat", "hybrid"]  # what MCDRAM, the memory on the chip, is used as
MCDRAM_GIB: dict[str, float] = {
    "flat": 16,
    "hybrid": 8,
}  # that a process can have for its own; as a cache it is nobody's
MEMORY_FEATURES = {"cache": "cache", "flat": "flat", "hybrid": "equal"}  # hybrid: half cache, half memory
CLUSTER_FEATURES = ("quad", "hemi", "a2a", "snc2", "snc4")


class ManyCore(Spec):
    """A node's chips and what they are asked to be; a run in parts has its nodes to itself."""

    cpus: Count  # of a chip, as Slurm counts them; its parts share them out evenly
    parts: Annotated[int, Field(ge=1, le=1024)] = 1  # P: replicas on a chip, each pinned to cores of its own
    chips: Annotated[int, Field(ge=1, le=64)] = 1  # of a node
    cluster_mode: ClusterMode | None = None  # none: as the nodes are
    memory_mode: MemoryMode | None = None
    fast_memory_gb: Positive | None = None  # of a chip; none: 16 where memory_mode is flat, 8 where it is hybrid

    @property
    def features(self) -> list[str]:
        """The modes in Slurm's words."""
        return [
            *filter(None, [self.cluster_mode]),
            *(MEMORY_FEATURES[mode] for mode in filter(None, [self.memory_mode])),
        ]

    @property
    def fast_gib(self) -> float | None:
        """What the parts of a chip may fill together; none: not known, or a cache."""
        return self.fast_memory_gb or MCDRAM_GIB.get(self.memory_mode or "")

    @property
    def uses_fast_nodes(self) -> bool:
        """Whether the fast memory is a place of its own, which a process can prefer."""
        return self.memory_mode in MCDRAM_GIB


def many_core_misfits(
    many_core: ManyCore, *, ranks_per_node: int, cpus_per_rank: int, constraint: str | None
) -> Iterator[Fault]:
    """What of a Slurm's resources does not go with its many_core, with the sum."""
    if ranks_per_node != 1:
        ranks = f"chips {many_core.chips} x parts {many_core.parts} = {many_core.chips * many_core.parts} ranks"
        message = f"leave it out: with many_core a node has {ranks}"
        yield Fault(path="ranks_per_node", message=message)
    if cpus_per_rank != 1:
        message = f"leave it out: with many_core a rank has {many_core.cpus} cpus / {many_core.parts} parts of them"
        yield Fault(path="cpus_per_rank", message=message)
    if many_core.parts > many_core.cpus:
        message = f"{many_core.parts} parts need a cpu each, and a chip has {many_core.cpus}"
        yield Fault(path="many_core.parts", message=message)
    if constraint and many_core.features:
        yield from _clashes(many_core, constraint)


def _clashes(many_core: ManyCore, constraint: str) -> Iterator[Fault]:
    """A constraint that could not be joined with the modes, or names others."""
    if set("|[]()*") & set(constraint):
        message = (
            f"Slurm joins the modes of a chip by & alone, and {constraint!r} says more: leave out one or the other"
        )
        yield Fault(path="constraint", message=message)
        return
    named = set(constraint.replace(",", "&").split("&"))
    for field, mode, known in (
        ("cluster_mode", many_core.cluster_mode, CLUSTER_FEATURES),
        ("memory_mode", MEMORY_FEATURES.get(many_core.memory_mode or ""), tuple(MEMORY_FEATURES.values())),
    ):
        if mode and (others := sorted(named & set(known) - {mode})):
            message = f"it asks for {others[0]}, and many_core.{field} for {mode}"
            yield Fault(path="constraint", message=message)
