"""The spec of the update rule, by which replicas are synchronized."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, PositiveFactor

Pace = Literal["paced", "free"]


class Sync(Spec):
    """Synchronous data-parallel SGD: gradients are averaged over all ranks before every step."""

    kind: Literal["sync"] = "sync"
    packed: bool = True
    """Whether a message has several layers; false: one message per layer."""
    overlap: bool = True
    """Whether messages are sent during the backward pass; false: after the backward pass."""

    @property
    def survives_workers(self) -> bool:
        """Whether the run continues if a rank other than rank 0 fails."""
        return False


class EASGD(Spec):
    """Elastic averaging (You, Buluç & Demmel, 2017): an elastic force between independent replicas and a center.

    original: the center answers in rank order. async: the center answers in order of arrival; with momentum this is
    MEASGD. hogwild: async without a lock. sync1: a tree to and from a master. sync2: a center on every rank, updated
    by the run's collective. sync3: sync2 with the exchange in parallel with forward and backward.
    """

    kind: Literal["easgd"] = "easgd"
    variant: Literal["original", "async", "hogwild", "sync1", "sync2", "sync3"] = "sync3"
    """How the replicas and the center exchange weights."""
    rho: PositiveFactor | None = Field(default=None, examples=[0.1])
    """Elastic force; null: eta rho = 0.9 / number of replicas."""
    period: Count = 1
    """Number of steps between two exchanges."""
    pace: Pace = "paced"
    """Of the variants async and hogwild. paced: no replica begins an exchange before half of the other replicas have
    ended as many; free: no replica waits, so that replicas with a fast link take their steps before the others."""
    packed: bool = True
    """Whether one message has all layers; false: one message per layer."""

    @property
    def is_served(self) -> bool:
        """Whether rank 0 answers one replica at a time."""
        return self.variant in ("original", "async", "hogwild")

    @property
    def survives_workers(self) -> bool:
        """Whether the run continues if a rank other than rank 0 fails."""
        return self.is_served

    def force(self, *, rate: float, world: int) -> float:
        """Return rho: the spec's value, or 0.9 / (eta P) as the EASGD authors use."""
        return self.rho or 0.9 / (rate * world)


class AsyncSGD(Spec):
    """Asynchronous SGD: rank 0 applies each gradient on arrival. With momentum at rank 0 this is Async MSGD.

    hogwild: without a lock.
    """

    kind: Literal["async_sgd"] = "async_sgd"
    variant: Literal["async", "hogwild"] = "async"
    """Whether rank 0 locks the weights (async) or not (hogwild)."""
    pace: Pace = "paced"
    """paced: no rank sends a gradient before half of the other ranks have sent as many; free: no rank waits, so that
    ranks with a fast link take their steps before the others."""
    packed: bool = True
    """Whether one message has all layers; false: one message per layer."""

    @property
    def survives_workers(self) -> bool:
        """Whether the run continues if a rank other than rank 0 fails."""
        return True


Rule = Annotated[Sync | EASGD | AsyncSGD, Field(discriminator="kind")]
