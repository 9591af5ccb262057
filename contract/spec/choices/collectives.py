"""How gradients are summed over the ranks; those that are a plan are made one in trainers/plans.py."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count


class _Summed(Spec):
    # a rank that is silent for so long is lost: all others end and name it (on GPUs NCCL's own time-out holds)
    timeout_s: Annotated[float, Field(gt=0, le=1800)] = 300.0


class _InRounds(_Summed):
    wire: Literal["bfloat16", "float16"] | None = None  # in which float32 travels; it is summed in float32 all the same


class Native(_Summed):
    """The backend's own all-reduce (gloo on CPUs, NCCL on GPUs)."""

    kind: Literal["native"] = "native"


class Ring(_InRounds):
    """Ring all-reduce: 2 (n - 1) rounds, bandwidth-optimal (Patarasuk & Yuan, 2009)."""

    kind: Literal["ring"] = "ring"


class Torus(_InRounds):
    """2D-torus all-reduce (Mikami et al., 2018) on `rows` rows of world / rows ranks."""

    kind: Literal["torus"] = "torus"
    rows: Count | None = None  # none: a host to a row; where hosts have one rank or there is one host, near a square


class Tree(_InRounds):
    """Binomial reduction tree (Iandola et al., FireCaffe, 2015): 2 log2 n rounds of the whole vector."""

    kind: Literal["tree"] = "tree"


class Colors(_InRounds):
    """Multi-color all-reduce (Kumar et al., 2017): `k` parts, each on a tree in which other ranks do the sums."""

    kind: Literal["colors"] = "colors"
    k: Count = 4


class Hierarchical(_InRounds):
    """Hierarchical all-reduce (Jia et al., 2018): sum in groups, a ring among their masters, back to the groups."""

    kind: Literal["hierarchical"] = "hierarchical"
    group: Count | None = None  # ranks of a group; none: those of a host


class HalvingDoubling(_InRounds):
    """Recursive halving and doubling (Rabenseifner, 2004): 2 log2 n rounds, bandwidth-optimal over long ways."""

    kind: Literal["halving_doubling"] = "halving_doubling"


class Server(_InRounds):
    """Parameter server: `servers` of the ranks sum a shard each for all. The yardstick, not the choice."""

    kind: Literal["server"] = "server"
    servers: Count = 1


class Auto(_InRounds):
    """For each size the plan that is cheapest on the links, which are measured as the run starts; kept when it resumes.

    On GPUs it is NCCL's own.
    """

    kind: Literal["auto"] = "auto"


Planned = Ring | Torus | Tree | Colors | Hierarchical | HalvingDoubling | Server  # those that are a plan of rounds
Collective = Annotated[Native | Planned | Auto, Field(discriminator="kind")]
Chosen = Annotated[Native | Planned, Field(discriminator="kind")]  # what "auto" may come to


def words(collective: Native | Planned | Auto) -> str:
    """A collective and its shape, as a spec has them: "torus rows=4"."""
    shape = collective.model_dump(exclude={"kind", *_InRounds.model_fields}, exclude_none=True)
    return " ".join([collective.kind, *(f"{name}={value}" for name, value in shape.items())])
