"""Mesh: the ranks of one replica, in a line (1-D), a square of q x q (2-D) or a cube of q x q x q (3-D).

A rank's coordinates are the digits of its number: rank = (i q + j) q + l in a cube. A group of some axes has the ranks
that differ in these coordinates alone, ordered by the first axis, then by the second: group "ji" of a cube has q^2
ranks, of which number j q + i has the coordinates i and j.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # prices need shapes without torch
    from trainers.tensor.group import Group

Kind = Literal["one_d", "two_d", "three_d"]
AXES: dict[Kind, str] = {"one_d": "i", "two_d": "ij", "three_d": "ijl"}
# the groups that the layers of each kind use; "all" has every rank of the replica
GROUPS: dict[Kind, tuple[str, ...]] = {
    "one_d": ("i", "all"),
    "two_d": ("i", "j", "all"),
    "three_d": ("i", "j", "l", "ji", "li", "all"),
}


@dataclass(frozen=True)
class Shape:
    """The kind of a mesh and the length of its sides: the number of ranks in 1-D, q in 2-D and 3-D.

    `saves_gathered`: the linear layers of a cube save their gathered inputs and weights for the backward pass.
    """

    kind: Kind
    side: int
    saves_gathered: bool = False

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(self.side ** len(AXES[self.kind]))

    @property
    def row_blocks(self) -> int:
        """Into how many blocks the samples of a batch are cut."""
        return {"one_d": 1, "two_d": self.side, "three_d": self.side**2}[self.kind]

    def coordinates(self, rank: int) -> dict[str, int]:
        """Return the coordinate on each axis of a rank of the mesh."""
        axes = AXES[self.kind]
        return {axis: rank // self.side**power % self.side for power, axis in enumerate(reversed(axes))}

    def members(self, group: str, rank: int) -> list[int]:
        """Return the ranks of a rank's group, in the order of the group's axes."""
        if group == "all":
            return list(range(self.size))
        axes, at = AXES[self.kind], self.coordinates(rank)
        members = []
        for digits in product(range(self.side), repeat=len(group)):
            moved = at | dict(zip(group, digits, strict=True))
            members.append(sum(moved[axis] * self.side**power for power, axis in enumerate(reversed(axes))))
        return members

    def every_group(self, group: str) -> list[list[int]]:
        """Return the members of every group of these axes, in one order on all ranks."""
        others = [axis for axis in AXES[self.kind] if axis not in group and group != "all"]
        starts = [rank for rank in range(self.size) if self._is_first(rank, group)] if others else [0]
        return sorted(self.members(group, rank) for rank in starts)

    def _is_first(self, rank: int, group: str) -> bool:
        """Return whether a rank's coordinates on the axes of a group are all 0."""
        at = self.coordinates(rank)
        return not any(at[axis] for axis in group)


@dataclass(frozen=True)
class Mesh:
    """A rank's place in the mesh of its replica, and the groups to which it belongs, by their axes."""

    shape: Shape
    rank: int  # among the ranks of the replica
    groups: Mapping[str, "Group"]

    @property
    def at(self) -> dict[str, int]:
        """The coordinate on each axis."""
        return self.shape.coordinates(self.rank)

    @property
    def input_block(self) -> int:
        """Which block of the samples enters on this rank."""
        at, q = self.at, self.shape.side
        return {"one_d": 0, "two_d": at["i"], "three_d": at["i"] * q + at.get("j", 0)}[self.shape.kind]

    @property
    def output_block(self) -> int:
        """Of which block of the samples this rank has logits."""
        at, q = self.at, self.shape.side
        return {"one_d": 0, "two_d": at["i"], "three_d": at["i"] * q + at.get("l", 0)}[self.shape.kind]

    @property
    def vocabulary_axis(self) -> str:
        """The axis along which the logits of a token are cut."""
        return "i" if self.shape.kind == "one_d" else "j"
