"""The EASGD family (You, Buluç & Demmel, 2017, after Zhang, Choromanska & LeCun, 2015): replicas on a leash.

    W_i <- W_i - eta (g_i + rho (W_i - Wbar))                                                        (1)
    V_i <- mu V_i - eta g_i,   W_i <- W_i + V_i - eta rho (W_i - Wbar)                          (5), (6)

Every replica takes its own optimizer's step along its own gradient, and every `period` steps is pulled towards the
center by alpha = eta rho of its distance before the step. The variants differ in their center alone (center.py).
torch's SGD has V in units of the gradient: the same as (5) as long as eta stays.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from trainers.rules.call_timer import Timed, untimed
from trainers.rules.centers.center import Center


class Elastic:
    """`x_N` are the packed weights of which the optimizer's parameters are views; its first group has the rate.

    `overlap`: the exchange begins before the forward pass (Sync EASGD 3) and carries the loss of the step before.
    """

    replicas_differ = True

    def __init__(
        self,
        x_N: Tensor,
        optimizer: torch.optim.Optimizer,
        center: Center,
        *,
        rho: float,
        period: int,
        overlap: bool,
        timed: Timed = untimed,
        updating: Timed = untimed,
    ) -> None:
        self._x_N, self._optimizer, self._center = x_N, optimizer, center
        self._rho, self._period, self._overlap = rho, period, overlap
        self._ask_center, self._pull = timed(center.ask), timed(center.pull)
        self._update = updating(self._move)
        self._steps = 0
        self._losses: list[float] = []  # since the last exchange
        self._mean_loss = math.nan
        self._wishes: Sequence[float] = ()
        self.is_synchronous = center.is_synchronous

    def begin(self, wishes: Sequence[float] = (), /) -> None:
        """Begin the exchange that goes on beside the passes."""
        self._wishes = wishes
        if self._overlap and self._is_due:
            self._ask()

    def last_pass(self) -> None:
        """Weights are exchanged, not gradients."""

    @torch.no_grad()
    def step(self, told: Tensor, /) -> Tensor:
        """Step, be pulled if it is time, and clear the gradients; the mean loss is that of the last exchange."""
        loss, *_ = told.flatten().tolist()
        heard = [0.0] * len(self._wishes)
        self._losses.append(loss)
        if self._is_due:
            if not self._overlap:
                self._ask()
            d_N, (self._mean_loss, *heard) = self._pull()
            self._update(d_N)
        else:
            self._update(None)
        self._steps += 1
        mean_loss = loss if math.isnan(self._mean_loss) else self._mean_loss
        return told.new_tensor([mean_loss, *heard]).view_as(told)

    def _move(self, d_N: Tensor | None) -> None:
        self._optimizer.step()
        if d_N is not None:
            self._x_N -= d_N
        self._optimizer.zero_grad()

    @property
    def _is_due(self) -> bool:
        return (self._steps + 1) % self._period == 0

    def _ask(self) -> None:
        alpha = self._optimizer.param_groups[0]["lr"] * self._rho
        loss = sum(self._losses) / len(self._losses) if self._losses else math.nan
        self._losses.clear()
        self._ask_center(self._x_N, alpha, (loss, *self._wishes))

    def settle(self) -> None:
        self._center.settle()

    @contextmanager
    def answer(self) -> Iterator[None]:
        """The center's weights; where it need not be known, the replica's own."""
        c_N = self._center.where()
        own_N = self._x_N.clone()
        if c_N is not None:
            self._x_N.copy_(c_N)
        try:
            yield
        finally:
            self._x_N.copy_(own_N)

    def left(self) -> Mapping[int, str | None]:
        return self._center.left()

    def join(self, steps: int) -> None:
        self._steps = steps
        self._center.start_at(self._x_N)

    def state_dict(self) -> dict[str, Any]:
        own = {"steps": self._steps, "losses": list(self._losses), "mean_loss": self._mean_loss}
        return {**own, "center": self._center.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._steps, self._mean_loss = state["steps"], state["mean_loss"]
        self._losses = list(state["losses"])
        self._center.load_state_dict(state["center"])
