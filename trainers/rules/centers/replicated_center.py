"""A center that every rank keeps a copy of, moved by one all-reduce: Sync EASGD 2 and 3 (You, Buluç & Demmel, 2017).

    d_i = alpha (x_i - c),   c <- c + sum_i d_i                                                       (2)

All copies take the same sum, so they stay equal to the bit. In EASGD3 the all-reduce goes on beside the forward and
the backward pass: what it sums are the weights before the step, which are known before the gradient is.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from trainers.collectives.runners.allreduce import Allreduce
from trainers.rules.call_timer import Timed, untimed
from trainers.rules.rule import RIDERS


class Replicated:
    """`overlap`: the all-reduce runs in a thread of its own, and nobody else may use it at the same time."""

    is_synchronous = True

    def __init__(
        self,
        start_N: Tensor,
        *,
        allreduce: Allreduce,
        world: int,
        overlap: bool = False,
        updating: Timed = untimed,
    ) -> None:
        self._c_N, self._allreduce, self._world = start_N.clone(), allreduce, world
        self._d_N, self._move = torch.empty_like(start_N), updating(self._c_N.add_)
        self._sum_N = start_N.new_empty(start_N.numel() + RIDERS)  # what is told rides at the end
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="exchange") if overlap else None
        self._under_way: Future[None] | None = None

    @torch.no_grad()
    def ask(self, x_N: Tensor, alpha: float, told: Sequence[float]) -> None:
        """Begin to sum what every replica is away from the center."""
        torch.sub(x_N, self._c_N, out=self._d_N).mul_(alpha)
        self._sum_N[:-RIDERS].copy_(self._d_N)
        self._told = len(told)
        self._sum_N[-RIDERS:] = self._sum_N.new_tensor([*told, *[0.0] * (RIDERS - self._told)]) / self._world
        if self._thread is None:
            self._allreduce(self._sum_N)
        else:
            self._under_way = self._thread.submit(self._allreduce, self._sum_N)

    @torch.no_grad()
    def pull(self) -> tuple[Tensor, list[float]]:
        """Move the center; return this replica's own pull and the means of what was told."""
        if self._under_way is not None:
            self._under_way.result()
            self._under_way = None
        self._move(self._sum_N[:-RIDERS])
        return self._d_N, self._sum_N[-RIDERS:].tolist()[: self._told]

    def settle(self) -> None:
        """All ranks exchange together."""

    def where(self) -> Tensor:
        return self._c_N

    def left(self) -> Mapping[int, str | None]:
        return {}

    def start_at(self, c_N: Tensor) -> None:
        self._c_N.copy_(c_N)

    def state_dict(self) -> dict[str, Any]:
        return {"center": self._c_N}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._c_N.copy_(state["center"])
