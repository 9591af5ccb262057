"""The shared point that elastic replicas are tied to (Zhang, Choromanska & LeCun, 2015): where it lives."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor


class Center(Protocol):
    """Moves towards the replicas as they move towards it.

    An exchange is two calls, so that a forward and a backward pass fit in between.
    """

    is_synchronous: bool  # every rank exchanges together with all others

    def ask(self, x_N: Tensor, alpha: float, told: Sequence[float]) -> None:
        """Begin an exchange: the replica is at `x_N` and moves by the part `alpha` of its distance.

        `told`: its loss, then its wishes.
        """
        ...

    def pull(self) -> tuple[Tensor, list[float]]:
        """End the exchange: alpha (x - c), the replica's way towards the center, and the means of what was told.

        Every rank hears of a wish above 0 once: a synchronous center's ranks all at the same exchange.
        """
        ...

    def settle(self) -> None:
        """Wait until every rank that still lives has made its last exchange."""
        ...

    def where(self) -> Tensor | None:
        """The center c_N now; None on a rank that need not know. A synchronous center is asked by all ranks at once."""
        ...

    def left(self) -> Mapping[int, str | None]:
        """On rank 0: the ranks that exchange no more, and whether each has taken all its steps or is lost."""
        ...

    def start_at(self, c_N: Tensor) -> None:
        """Stand at `c_N`, for a replica that has no state of an earlier attempt."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
