"""Center: the interface of the point to which elastic replicas are drawn (Zhang, Choromanska & LeCun, 2015)."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor


class Center(Protocol):
    """Moves towards the replicas as they move towards it.

    An exchange has a begin and an end, so that it can overlap a forward and a backward pass.
    """

    is_synchronous: bool  # every rank exchanges together with all other ranks

    def begin_exchange(self, x_N: Tensor, alpha: float, values: Tensor) -> None:
        """Begin an exchange: the replica is at `x_N` and moves by the fraction `alpha` of its distance.

        `values`: the rank's loss, then its requests, as a float64 vector on the device of `x_N`.
        """
        ...

    def end_exchange(self) -> tuple[Tensor, Tensor]:
        """End the exchange; return alpha (x - c), by which the replica moves, and the means of the values.

        Every rank receives a request above 0 once; the ranks of a synchronous center all at the same exchange.
        """
        ...

    def wait_for_all(self) -> None:
        """Wait until every rank that is not lost has made its last exchange."""
        ...

    def read_center(self) -> Tensor | None:
        """Return the center c_N, or None on a rank that does not know it; synchronous ranks call this together."""
        ...

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return, on rank 0, the ranks that exchange no more, and why each was lost; None if it took all its steps."""
        ...

    def set_center(self, c_N: Tensor) -> None:
        """Set the center, for a replica that has no state of an earlier attempt."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the center on this rank."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        ...
