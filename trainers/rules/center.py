"""The shared point that elastic replicas are tied to (Zhang, Choromanska & LeCun, 2015): where it lives."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor


class Center(Protocol):
    """Moves towards the replicas as they move towards it.

    An exchange is two calls, so that a forward and a backward pass fit in between.
    """

    is_synchronous: bool  # every rank exchanges together with all others

    def ask(self, x_N: Tensor, alpha: float, loss: float) -> None:
        """Begin an exchange: the replica is at `x_N` and moves by the part `alpha` of its distance."""
        ...

    def pull(self) -> tuple[Tensor, float]:
        """End the exchange: alpha (x - c), by which the replica moves towards the center, and the mean loss."""
        ...

    def settle(self) -> None:
        """Wait until every rank that still lives has made its last exchange."""
        ...

    def where(self) -> Tensor | None:
        """The center c_N now; None on a rank that need not know. A synchronous center is asked by all ranks at once."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
