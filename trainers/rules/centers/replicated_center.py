"""ReplicatedCenter: a copy of the center on every rank, moved by one all-reduce: Sync EASGD 2 and 3.

    d_i = alpha (x_i - c),   c <- c + sum_i d_i                                                       (2)

(You, Buluç & Demmel, 2017). All copies add the same sum, so they stay equal to the bit. In Sync EASGD 3 the all-reduce
overlaps the forward and the backward pass: it sums the weights before the step, which are known before the gradient.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.futures import Future

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.async_allreduce import AsyncAllreduce, Outcome, wait_for_sum
from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.rule import EXTRA_VALUES


class ReplicatedCenter:
    """`overlap`: the all-reduce runs beside the passes, and no other code may use it at the same time."""

    is_synchronous = True

    def __init__(
        self,
        start_N: Tensor,
        *,
        allreduce: Allreduce,
        world: int,
        overlap: bool = False,
        updating: CallTimer = call_untimed,
    ) -> None:
        self._c_N, self._allreduce, self._world = start_N.clone(), allreduce, world
        self._d_N, self._move = torch.empty_like(start_N), updating(self._c_N.add_)
        self._sum_N = start_N.new_empty(start_N.numel() + EXTRA_VALUES)  # the values travel at the end
        self._sums = AsyncAllreduce(allreduce) if overlap else None
        self._pending: Future[Outcome] | None = None

    @torch.no_grad()
    def begin_exchange(self, x_N: Tensor, alpha: float, values: Tensor) -> None:
        """Begin to sum the moves of all replicas."""
        torch.sub(x_N, self._c_N, out=self._d_N).mul_(alpha)
        self._sum_N[:-EXTRA_VALUES].copy_(self._d_N)
        self._count = len(values)
        extra = self._sum_N[-EXTRA_VALUES:]
        extra.zero_()
        extra[: self._count].copy_(values / self._world)
        if self._sums is None:
            self._allreduce(self._sum_N)
        else:
            self._pending = self._sums.start(self._sum_N)

    @torch.no_grad()
    def end_exchange(self) -> tuple[Tensor, Tensor]:
        """Move the center; return this replica's move and the means of the values."""
        if self._pending is not None:
            wait_for_sum(self._pending)
            self._pending = None
        self._move(self._sum_N[:-EXTRA_VALUES])
        return self._d_N, self._sum_N[-EXTRA_VALUES:][: self._count].double()

    def wait_for_all(self) -> None:
        """Do nothing: all ranks exchange together."""

    def read_center(self) -> Tensor:
        """Return this rank's copy of the center."""
        return self._c_N

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return no ranks: the run ends when a rank is lost."""
        return {}

    def set_center(self, c_N: Tensor) -> None:
        """Set this rank's copy of the center."""
        self._c_N.copy_(c_N)

    def state_dict(self) -> dict[str, Any]:
        """Return the center."""
        return {"center": self._c_N}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the center."""
        self._c_N.copy_(state["center"])
