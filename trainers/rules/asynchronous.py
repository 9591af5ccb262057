"""Asynchronous SGD: gradients go to rank 0 as they come, and the newest weights come back.

The counterparts that the EASGD family is measured against (You, Buluç & Demmel, 2017): Async SGD, Async MSGD (with
momentum, at the center) and Hogwild SGD (without the lock). A gradient may be of weights that have since moved on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.rules.call_timer import Timed, untimed
from trainers.rules.centers.center_client import Door
from trainers.rules.flat_vector import Gradients


class Asynchronous:
    """`x_N` are the packed weights of which `params` are views; the optimizer's first group has the rate."""

    replicas_differ = True
    is_synchronous = False

    def __init__(
        self,
        x_N: Tensor,
        params: list[Parameter],
        optimizer: torch.optim.Optimizer,
        *,
        door: Door,
        timed: Timed = untimed,
        updating: Timed = untimed,
    ) -> None:
        self._x_N, self._door = x_N, door
        self._group = optimizer.param_groups[0]
        self._gradients = Gradients(params)
        self._exchange, self._update = timed(door.exchange), updating(self._take)

    def begin(self, wishes: Sequence[float] = (), /) -> None:
        """Nothing to send before there is a gradient."""

    def last_pass(self) -> None:
        """Its gradients leave as one, after it."""

    @torch.no_grad()
    def step(self, told: Tensor, /) -> Tensor:
        """Send the gradient, take the weights that come back, and clear the gradients."""
        self._gradients.refuse_strangers()
        g_N = self._gradients.flat_N
        if decay := self._group["weight_decay"]:
            g_N.add_(self._x_N, alpha=decay)
        loss, *wishes = told.flatten().tolist()
        w_N, (mean_loss, *heard) = self._exchange(g_N, self._group["lr"], (loss, *wishes))
        self._update(w_N)
        return told.new_tensor([loss if math.isnan(mean_loss) else mean_loss, *heard]).view_as(told)

    def _take(self, w_N: Tensor) -> None:
        self._x_N.copy_(w_N)
        self._gradients.flat_N.zero_()

    def settle(self) -> None:
        self._door.settle()

    @contextmanager
    def answer(self) -> Iterator[None]:
        """The weights at rank 0; elsewhere the last that came back."""
        w_N = self._door.where()
        own_N = self._x_N.clone()
        if w_N is not None:
            self._x_N.copy_(w_N)
        try:
            yield
        finally:
            self._x_N.copy_(own_N)

    def left(self) -> Mapping[int, str | None]:
        return self._door.left()

    def join(self, steps: int) -> None:
        self._door.start_at(self._x_N)

    def state_dict(self) -> dict[str, Any]:
        return {"center": self._door.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._door.load_state_dict(state["center"])
