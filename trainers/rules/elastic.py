"""The EASGD family (You, Buluç & Demmel, 2017, after Zhang, Choromanska & LeCun, 2015): replicas drawn to a center.

    W_i <- W_i - eta (g_i + rho (W_i - Wbar))                                                        (1)
    V_i <- mu V_i - eta g_i,   W_i <- W_i + V_i - eta rho (W_i - Wbar)                          (5), (6)

Every replica takes its optimizer's step along its own gradient. Every `period` steps it also moves towards the center
by alpha = eta rho times its distance before the step. The variants differ only in their center (centers/center.py).
(5) is the optimizer's step with the rate inside the velocity (trainers/optimizers/rate_inside.py). torch's SGD has the
rate outside, which equals (5) as long as eta does not change.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.centers.center import Center
from trainers.rules.host_numbers import numbers_on


class ElasticAveraging:
    """`x_N` are the flat weights of which the optimizer's parameters are views; its first group has the rate.

    `overlap`: the exchange begins before the forward pass (Sync EASGD 3) and carries the loss of the previous step.
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
        timed: CallTimer = call_untimed,
        updating: CallTimer = call_untimed,
    ) -> None:
        self._x_N, self._optimizer, self._center = x_N, optimizer, center
        self._rho, self._period, self._overlap = rho, period, overlap
        self._begin_exchange, self._end_exchange = timed(center.begin_exchange), timed(center.end_exchange)
        self._update = updating(self._move)
        self._steps = 0
        self._losses: list[Tensor] = []  # since the last exchange; on the device, because no loss is read before a save
        self._mean_loss = numbers_on(x_N.device, [math.nan])[0]
        self._requests: Sequence[float] = ()
        self.is_synchronous = center.is_synchronous

    def begin_step(self, requests: Sequence[float] = (), /) -> None:
        """Begin the exchange that overlaps the passes, if one is due."""
        self._requests = requests
        if self._overlap and self._is_exchange_due:
            self._send()

    def mark_last_pass(self, values: Tensor | None = None, /) -> None:
        """Do nothing: the replicas exchange weights, not gradients."""

    @torch.no_grad()
    def step(self, values: Tensor, /) -> Tensor:
        """Step, move towards the center if due, and clear the gradients; return the last exchange's mean loss."""
        loss = values.flatten()[0].double()
        received = numbers_on(values.device, [0.0] * len(self._requests))
        self._losses.append(loss)
        if self._is_exchange_due:
            if not self._overlap:
                self._send()
            d_N, means = self._end_exchange()
            self._mean_loss, received = means[0], means[1:]
            self._update(d_N)
        else:
            self._update(None)
        self._steps += 1
        mean_loss = torch.where(self._mean_loss.isnan(), loss, self._mean_loss)
        return torch.cat([mean_loss.view(1), received]).to(values.dtype).view_as(values)

    def _move(self, d_N: Tensor | None) -> None:
        self._optimizer.step()
        if d_N is not None:
            self._x_N -= d_N
        self._optimizer.zero_grad()

    @property
    def _is_exchange_due(self) -> bool:
        return (self._steps + 1) % self._period == 0

    def _send(self) -> None:
        alpha = self._optimizer.param_groups[0]["lr"] * self._rho
        device = self._x_N.device
        loss = (
            sum(self._losses[1:], self._losses[0]) / len(self._losses)
            if self._losses
            else numbers_on(device, [math.nan])
        )
        self._losses.clear()
        self._begin_exchange(self._x_N, alpha, torch.cat([loss.view(1), numbers_on(device, self._requests)]))

    def wait_for_all(self) -> None:
        """Wait until every rank that is not lost has made its last exchange."""
        self._center.wait_for_all()

    @contextmanager
    def evaluation_weights(self) -> Iterator[None]:
        """Yield with the center's weights, or with the replica's weights on a rank that does not know the center."""
        c_N = self._center.read_center()
        own_N = self._x_N.clone()
        if c_N is not None:
            self._x_N.copy_(c_N)
        try:
            yield
        finally:
            self._x_N.copy_(own_N)

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return the ranks that exchange no more, and why each was lost."""
        return self._center.departed_ranks()

    def start_replica(self, steps: int) -> None:
        """Count `steps` steps as taken, and set the center to this replica's weights."""
        self._steps = steps
        self._center.set_center(self._x_N)

    def state_dict(self) -> dict[str, Any]:
        """Return the number of steps, the losses since the last exchange, and the center's state."""
        losses, mean_loss = [float(loss) for loss in self._losses], float(self._mean_loss)
        own = {"steps": self._steps, "losses": losses, "mean_loss": mean_loss}
        return {**own, "center": self._center.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        device = self._x_N.device
        self._steps, self._mean_loss = state["steps"], numbers_on(device, [state["mean_loss"]])[0]
        self._losses = list(numbers_on(device, state["losses"]))
        self._center.load_state_dict(state["center"])
