"""A center that rank 0 keeps, reached over a tree: Sync EASGD 1 (You, Buluç & Demmel, 2017).

    broadcast c;   reduce s = sum_i x_i to the master;   c <- c + alpha (s - n c)                     (2)

P messages to and from one master become log2 P rounds: P (alpha + N beta) falls to log2 P (alpha + N beta).
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

Collective = Callable[[Tensor], None]  # in place


class Mastered:
    """`broadcast` and `reduce` go from and to rank 0; the loss rides in the last element of what they carry."""

    is_synchronous = True

    def __init__(self, start_N: Tensor, *, broadcast: Collective, reduce: Collective, rank: int, world: int) -> None:
        self._broadcast, self._reduce, self._is_master, self._world = broadcast, reduce, rank == 0, world
        self._c_N = torch.cat([start_N, start_N.new_full((1,), torch.nan)])
        self._s_N = torch.empty_like(self._c_N)
        self._d_N = torch.empty_like(start_N)

    @torch.no_grad()
    def ask(self, x_N: Tensor, alpha: float, loss: float) -> None:
        """Learn where the center is, tell it where the replica is, and let it move."""
        self._broadcast(self._c_N)
        torch.sub(x_N, self._c_N[:-1], out=self._d_N).mul_(alpha)
        self._s_N[:-1].copy_(x_N)
        self._s_N[-1] = loss / self._world
        self._reduce(self._s_N)
        mean_loss = float(self._c_N[-1])
        self._mean_loss = loss if mean_loss != mean_loss else mean_loss  # none was broadcast before the first exchange
        if self._is_master:
            self._c_N[:-1].add_(self._s_N[:-1] - self._world * self._c_N[:-1], alpha=alpha)
            self._c_N[-1] = self._s_N[-1]
            self._mean_loss = float(self._c_N[-1])

    def pull(self) -> tuple[Tensor, float]:
        """Return this replica's pull; the mean loss is one exchange old but on the master."""
        return self._d_N, self._mean_loss

    def settle(self) -> None:
        """All ranks exchange together."""

    def where(self) -> Tensor:
        self._broadcast(self._c_N)
        return self._c_N[:-1]

    def state_dict(self) -> dict[str, Any]:
        return {"center": self._c_N}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._c_N.copy_(state["center"])
