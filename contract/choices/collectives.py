"""How gradients are summed over the ranks; those that are a plan are made one in trainers/plans.py."""

from typing import Annotated, Literal

from pydantic import Field

from contract.base import Spec
from contract.numbers import Count


class Native(Spec):
    """The backend's own all-reduce (gloo on CPUs, NCCL on GPUs)."""

    kind: Literal["native"] = "native"


class Ring(Spec):
    """Ring all-reduce: 2 (n - 1) rounds, bandwidth-optimal (Patarasuk & Yuan, 2009)."""

    kind: Literal["ring"] = "ring"


class Torus(Spec):
    """2D-torus all-reduce (Mikami et al., 2018) on `rows` rows of world / rows ranks."""

    kind: Literal["torus"] = "torus"
    rows: Count | None = None  # none: a host to a row; where hosts have one rank or there is one host, near a square


class Tree(Spec):
    """Binomial reduction tree (Iandola et al., FireCaffe, 2015): 2 log2 n rounds of the whole vector."""

    kind: Literal["tree"] = "tree"


class Colors(Spec):
    """Multi-color all-reduce (Kumar et al., 2017): `k` parts, each on a tree in which other ranks do the sums."""

    kind: Literal["colors"] = "colors"
    k: Count = 4


class Hierarchical(Spec):
    """Hierarchical all-reduce (Jia et al., 2018): sum in groups, a ring among their masters, back to the groups."""

    kind: Literal["hierarchical"] = "hierarchical"
    group: Count | None = None  # ranks of a group; none: those of a host


class HalvingDoubling(Spec):
    """Recursive halving and doubling (Rabenseifner, 2004): 2 log2 n rounds, bandwidth-optimal over long ways."""

    kind: Literal["halving_doubling"] = "halving_doubling"


class Server(Spec):
    """Parameter server: `servers` of the ranks sum a shard each for all. The yardstick, not the choice."""

    kind: Literal["server"] = "server"
    servers: Count = 1


Planned = Ring | Torus | Tree | Colors | Hierarchical | HalvingDoubling | Server  # those that are a plan of rounds
Collective = Annotated[Native | Planned, Field(discriminator="kind")]
