"""TreeCenter: a center on rank 0, reached over a tree: Sync EASGD 1 (You, Buluç & Demmel, 2017).

    broadcast c;   reduce s = sum_i x_i to rank 0;   c <- c + alpha (s - n c)                         (2)

P messages to and from rank 0 become log2 P rounds: P (alpha + N beta) falls to log2 P (alpha + N beta).
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.rule import EXTRA_VALUES

Collective = Callable[[Tensor], None]  # in place


class TreeCenter:
    """`broadcast` and `reduce` go from and to rank 0; the values of the ranks travel at the end of the vectors.

    Requests are reduced in one exchange and broadcast in the next: only then do all ranks act on a request.
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
        updating: CallTimer = call_untimed,
    ) -> None:
        self._broadcast, self._reduce, self._is_root, self._world = broadcast, reduce, rank == 0, world
        self._update = updating(self._move)
        self._c_N = torch.cat([start_N, start_N.new_zeros(EXTRA_VALUES)])
        self._c_N[-EXTRA_VALUES] = torch.nan  # no loss is known before the first exchange
        self._s_N = torch.empty_like(self._c_N)
        self._d_N = torch.empty_like(start_N)

    @torch.no_grad()
    def begin_exchange(self, x_N: Tensor, alpha: float, values: Tensor) -> None:
        """Receive the center, send the replica's position, and move the center on rank 0."""
        self._broadcast(self._c_N)
        means = self._c_N[-EXTRA_VALUES:][: len(values)].double()
        torch.sub(x_N, self._c_N[:-EXTRA_VALUES], out=self._d_N).mul_(alpha)
        self._s_N[:-EXTRA_VALUES].copy_(x_N)
        # do not send a request again that all ranks have just received
        new = torch.where(means > 0, 0.0, values)
        new[0] = values[0]
        extra = self._s_N[-EXTRA_VALUES:]
        extra.zero_()
        extra[: len(values)].copy_(new / self._world)
        self._reduce(self._s_N)
        self._received = torch.where(means.isnan(), values, means)  # no mean loss is known at first
        if self._is_root:
            self._update(alpha)
            self._received[0] = self._c_N[-EXTRA_VALUES]

    def _move(self, alpha: float) -> None:
        self._c_N[:-EXTRA_VALUES].add_(self._s_N[:-EXTRA_VALUES] - self._world * self._c_N[:-EXTRA_VALUES], alpha=alpha)
        self._c_N[-EXTRA_VALUES:] = self._s_N[-EXTRA_VALUES:]

    def end_exchange(self) -> tuple[Tensor, Tensor]:
        """Return this replica's move; the means are one exchange old, except for the mean loss on rank 0."""
        return self._d_N, self._received

    def wait_for_all(self) -> None:
        """Do nothing: all ranks exchange together."""

    def read_center(self) -> Tensor:
        """Broadcast the center and return it."""
        self._broadcast(self._c_N)
        return self._c_N[:-EXTRA_VALUES]

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return no ranks: the run ends when a rank is lost."""
        return {}

    def set_center(self, c_N: Tensor) -> None:
        """Set the center on this rank."""
        self._c_N[:-EXTRA_VALUES].copy_(c_N)

    def state_dict(self) -> dict[str, Any]:
        """Return the center with its mean loss and requests."""
        return {"center": self._c_N}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the center and its mean loss, and drop the requests of the earlier attempt."""
        self._c_N.copy_(state["center"])
        self._c_N[1 - EXTRA_VALUES :] = 0.0
