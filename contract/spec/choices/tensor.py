"""The spec of tensor parallelism: how many ranks share a replica of the net, and how its matrices are cut."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec

Side = Annotated[int, Field(ge=2, le=16)]


class OneD(Spec):
    """Each matrix is cut in one direction, all ranks of a replica have all activations (Shoeybi et al., 2019)."""

    kind: Literal["one_d"] = "one_d"
    ranks: Annotated[int, Field(ge=2, le=256)] = 2
    """Number of ranks of a replica."""

    @property
    def side(self) -> int:
        """The number of ranks on the mesh's only axis."""
        return self.ranks

    @property
    def size(self) -> int:
        """The number of ranks of a replica."""
        return self.ranks

    @property
    def row_blocks(self) -> int:
        """Into how many blocks the samples of a replica are cut."""
        return 1

    @property
    def width_blocks(self) -> int:
        """Into how many blocks the width is cut."""
        return self.ranks


class TwoD(Spec):
    """Matrices and activations are cut in blocks of a square of q x q ranks, by SUMMA (Xu et al., Optimus, 2021)."""

    kind: Literal["two_d"] = "two_d"
    q: Side = 2
    """Number of ranks on a side of the square: q^2 ranks are a replica."""

    @property
    def side(self) -> int:
        """The number of ranks on an axis of the mesh."""
        return self.q

    @property
    def size(self) -> int:
        """The number of ranks of a replica."""
        return self.q**2

    @property
    def row_blocks(self) -> int:
        """Into how many blocks the samples of a replica are cut."""
        return self.q

    @property
    def width_blocks(self) -> int:
        """Into how many blocks the width is cut."""
        return self.q**2


class ThreeD(Spec):
    """Matrices and activations are cut over a cube of q x q x q ranks (Bian et al., 2021)."""

    kind: Literal["three_d"] = "three_d"
    q: Side = 2
    """Number of ranks on a side of the cube: q^3 ranks are a replica."""
    save_gathered: bool = False
    """Save the gathered inputs and weights of layers for the backward pass: a quarter fewer words, more memory."""

    @property
    def side(self) -> int:
        """The number of ranks on an axis of the mesh."""
        return self.q

    @property
    def size(self) -> int:
        """The number of ranks of a replica."""
        return self.q**3

    @property
    def row_blocks(self) -> int:
        """Into how many blocks the samples of a replica are cut."""
        return self.q**2

    @property
    def width_blocks(self) -> int:
        """Into how many blocks the width is cut."""
        return self.q**3


Tensor = Annotated[OneD | TwoD | ThreeD, Field(discriminator="kind")]


def describe_mesh(kind: Literal["one_d", "two_d", "three_d"], side: int) -> str:
    """Return the ranks of a replica as a sum, such as "2 x 2 x 2 = 8 ranks"."""
    match kind:
        case "one_d":
            return f"{side} ranks"
        case "two_d":
            return f"{side} x {side} = {side**2} ranks"
        case "three_d":
            return f"{side} x {side} x {side} = {side**3} ranks"
