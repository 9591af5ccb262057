"""How replicas agree."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.numbers import Count, Positive


class Sync(Spec):
    """Synchronous data-parallel SGD: gradients are averaged over all ranks before every step."""

    kind: Literal["sync"] = "sync"
    packed: bool = True  # many layers in one message; false: a message for each
    overlap: bool = True  # messages leave while backward goes on; false: after it

    @property
    def survives_workers(self) -> bool:
        """Whether the run goes on when a rank other than the first is lost."""
        return False


class EASGD(Spec):
    """Elastic averaging (You, Buluç & Demmel, 2017): replicas train alone and are tied to a center.

    original: the center answers in rank order. async: first come, first served; with momentum this is MEASGD.
    hogwild: async without a lock. sync1: a tree to and from a master. sync2: a center on every rank, moved by the
    run's collective. sync3: sync2 with the exchange beside forward and backward.
    """

    kind: Literal["easgd"] = "easgd"
    variant: Literal["original", "async", "hogwild", "sync1", "sync2", "sync3"] = "sync3"
    rho: Positive | None = None  # elastic force; none: so that the pull, eta rho, is 0.9 over the number of replicas
    period: Count = 1  # steps between two exchanges
    packed: bool = True  # all layers in one message; false: a message for each

    @property
    def is_served(self) -> bool:
        """Whether rank 0 answers one replica at a time."""
        return self.variant in ("original", "async", "hogwild")

    @property
    def survives_workers(self) -> bool:
        return self.is_served

    def force(self, *, rate: float, world: int) -> float:
        """rho: as stated, or the EASGD authors' 0.9 / (eta P)."""
        return self.rho or 0.9 / (rate * world)


class AsyncSGD(Spec):
    """Asynchronous SGD: gradients go to rank 0 as they come. With momentum, kept at rank 0, this is Async MSGD.

    hogwild: without a lock.
    """

    kind: Literal["async_sgd"] = "async_sgd"
    variant: Literal["async", "hogwild"] = "async"
    packed: bool = True  # all layers in one message; false: a message for each

    @property
    def survives_workers(self) -> bool:
        return True


Rule = Annotated[Sync | EASGD | AsyncSGD, Field(discriminator="kind")]
