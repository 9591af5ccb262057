"""A center that rank 0 keeps, reached over a tree: Sync EASGD 1 (You, Buluç & Demmel, 2017).

    broadcast c;   reduce s = sum_i x_i to the master;   c <- c + alpha (s - n c)                     (2)

P messages to and from one master become log2 P rounds: P (alpha + N beta) falls to log2 P (alpha + N beta).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from trainers.rules.call_timer import Timed, untimed
from trainers.rules.rule import RIDERS

Collective = Callable[[Tensor], None]  # in place


class Mastered:
    """`broadcast` and `reduce` go from and to rank 0; what the ranks tell rides at the end of what they carry.

    It is reduced in one exchange and broadcast in the next: only then do all ranks act on a wish.
    """

    is_synchronous = True

    def __init__(
        self,
        start_N: Tensor,
        *,
        broadcast: Collective,
        reduce: Collective,
        rank: int,
        world: int,
        updating: Timed = untimed,
    ) -> None:
        self._broadcast, self._reduce, self._is_master, self._world = broadcast, reduce, rank == 0, world
        self._update = updating(self._move)
        self._c_N = torch.cat([start_N, start_N.new_zeros(RIDERS)])
        self._c_N[-RIDERS] = torch.nan  # no loss is known before the first exchange
        self._s_N = torch.empty_like(self._c_N)
        self._d_N = torch.empty_like(start_N)

    @torch.no_grad()
    def ask(self, x_N: Tensor, alpha: float, told: Sequence[float]) -> None:
        """Learn where the center is, tell it where the replica is, and let it move."""
        self._broadcast(self._c_N)
        mean_loss, *heard = self._c_N[-RIDERS:].tolist()[: len(told)]
        torch.sub(x_N, self._c_N[:-RIDERS], out=self._d_N).mul_(alpha)
        self._s_N[:-RIDERS].copy_(x_N)
        # a wish that all have heard of just now is not told again
        new = [told[0], *(0.0 if known > 0 else wish for wish, known in zip(told[1:], heard, strict=True))]
        self._s_N[-RIDERS:] = self._s_N.new_tensor([*new, *[0.0] * (RIDERS - len(told))]) / self._world
        self._reduce(self._s_N)
        self._heard = [told[0] if mean_loss != mean_loss else mean_loss, *heard]
        if self._is_master:
            self._update(alpha)
            self._heard[0] = float(self._c_N[-RIDERS])

    def _move(self, alpha: float) -> None:
        self._c_N[:-RIDERS].add_(self._s_N[:-RIDERS] - self._world * self._c_N[:-RIDERS], alpha=alpha)
        self._c_N[-RIDERS:] = self._s_N[-RIDERS:]

    def pull(self) -> tuple[Tensor, list[float]]:
        """Return this replica's pull; what was told is one exchange old, the mean loss but on the master."""
        return self._d_N, self._heard

    def settle(self) -> None:
        """All ranks exchange together."""

    def where(self) -> Tensor:
        self._broadcast(self._c_N)
        return self._c_N[:-RIDERS]

    def left(self) -> Mapping[int, str | None]:
        return {}

    def start_at(self, c_N: Tensor) -> None:
        self._c_N[:-RIDERS].copy_(c_N)

    def state_dict(self) -> dict[str, Any]:
        return {"center": self._c_N}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._c_N.copy_(state["center"])
        self._c_N[1 - RIDERS :] = 0.0  # an earlier attempt's wishes
