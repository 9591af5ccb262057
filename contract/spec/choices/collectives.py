"""The spec of the collective that sums gradients over the ranks."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count


class _Collective(Spec):
    timeout_s: Annotated[float, Field(ge=0.1, le=1800)] = 300.0
    """Seconds for which a rank may not answer; after this time all other ranks end and report the rank (on GPUs NCCL
    ends them, and does not name the rank). Rules with a center at rank 0 go on without the rank."""


class _RoundsCollective(_Collective):
    wire: Literal["bfloat16", "float16"] | None = None
    """Format of float32 values in messages, whose sums are always float32; null: float32."""


class Native(_Collective):
    """The all-reduce of the backend: gloo on CPUs, NCCL on GPUs."""

    kind: Literal["native"] = "native"


class Ring(_RoundsCollective):
    """Ring all-reduce: 2 (n - 1) rounds, bandwidth-optimal (Patarasuk & Yuan, 2009)."""

    kind: Literal["ring"] = "ring"


class Torus(_RoundsCollective):
    """2D-torus all-reduce (Mikami et al., 2018) on `rows` rows of world / rows ranks."""

    kind: Literal["torus"] = "torus"
    rows: Count | None = Field(default=None, examples=[4])
    """Number of rows; null: one row per host; with one host or one rank per host, nearly square."""


class Tree(_RoundsCollective):
    """Binomial reduction tree (Iandola et al., FireCaffe, 2015): 2 log2 n rounds of the whole vector."""

    kind: Literal["tree"] = "tree"


class Colors(_RoundsCollective):
    """Multi-color all-reduce (Kumar et al., 2017): `k` parts, each on a tree with other inner hosts."""

    kind: Literal["colors"] = "colors"
    k: Count = 4
    """Number of colors: of parts of the vector, each with its own tree; at most the number of hosts are used."""


class Hierarchical(_RoundsCollective):
    """Hierarchical all-reduce (Jia et al., 2018): reduce in groups, ring of the masters, broadcast."""

    kind: Literal["hierarchical"] = "hierarchical"
    group: Count | None = Field(default=None, examples=[4])
    """Number of ranks per group; null: the ranks of a host."""


class HalvingDoubling(_RoundsCollective):
    """Recursive halving and doubling (Rabenseifner, 2004): 2 log2 n rounds, bandwidth-optimal."""

    kind: Literal["halving_doubling"] = "halving_doubling"


class Server(_RoundsCollective):
    """Parameter server, for comparison: each of `servers` ranks sums one shard for all ranks."""

    kind: Literal["server"] = "server"
    servers: Count = 1
    """Number of ranks that are servers, each of one shard."""


class Auto(_RoundsCollective):
    """The cheapest plan for each vector size, on links that are measured at the start of the run.

    A resumed run uses the same plans. On GPUs `auto` uses NCCL's all-reduce, and with `wire` the torus.
    """

    kind: Literal["auto"] = "auto"


PlannedCollective = (
    Ring | Torus | Tree | Colors | Hierarchical | HalvingDoubling | Server
)  # collectives that are a plan of rounds
Collective = Annotated[Native | PlannedCollective | Auto, Field(discriminator="kind")]
ResolvedCollective = Annotated[Native | PlannedCollective, Field(discriminator="kind")]  # possible choices of "auto"


def describe_collective(collective: Native | PlannedCollective | Auto) -> str:
    """Return the kind and shape of a collective, such as "torus rows=4"."""
    shape = collective.model_dump(exclude={"kind", *_RoundsCollective.model_fields}, exclude_none=True)
    return " ".join([collective.kind, *(f"{name}={value}" for name, value in shape.items())])
