"""Asynchronous SGD: each rank sends its gradients to rank 0 without waiting for other ranks, and receives the weights.

The methods with which the EASGD family is compared (You, Buluç & Demmel, 2017): Async SGD, Async MSGD (with momentum,
at the center) and Hogwild SGD (without the lock). A gradient may belong to weights that have changed in the meantime.
The optimizer only holds the rate and the weight decay of its groups: its step, and the hooks on it, are never called.
A parameter without a gradient in a step does not decay in it. Its gradient counts as zero, so with momentum the center
goes on to move it along its velocity; under a synchronous rule the optimizer would leave it as it is.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import Parameter

from trainers.rules.call_timer import CallTimer, call_untimed
from trainers.rules.centers.center_client import CenterClient
from trainers.rules.centers.center_update import NO_UPDATE
from trainers.rules.flat_vector import PackedGradients


class GradientScale(Protocol):
    """The factor by which this rank's gradients are too large (trainers/training/precision.py)."""

    def unscale(self, grads: list[Tensor], /) -> bool:
        """Divide the gradients by the factor, and return whether all are finite."""
        ...

    def adjust(self, *, was_skipped: bool) -> None:
        """Set the factor of the next step."""
        ...


class AsynchronousSGD:
    """`x_N` are the flat weights of which `params` are views; the optimizer's first group has the learning rate.

    `scale`: the loss scale of float16; a step whose gradients are not all finite leaves the center as it is.
    """

    replicas_differ = True
    is_synchronous = False

    def __init__(
        self,
        x_N: Tensor,
        params: list[Parameter],
        optimizer: torch.optim.Optimizer,
        *,
        client: CenterClient,
        scale: GradientScale | None = None,
        timed: CallTimer = call_untimed,
        updating: CallTimer = call_untimed,
    ) -> None:
        self._x_N, self._client, self._scale = x_N, client, scale
        self._groups = optimizer.param_groups
        self._gradients = PackedGradients(params)
        self._exchange, self._update = timed(client.exchange), updating(self._set_weights)

    def begin_step(self, requests: Sequence[float] = (), /) -> None:
        """Do nothing: there is no gradient to send yet."""

    def mark_last_pass(self, values: Tensor | None = None, /) -> None:
        """Do nothing: the gradients are sent as one vector after the last pass."""

    @torch.no_grad()
    def step(self, values: Tensor, /) -> Tensor:
        """Send the gradient, copy the received weights, and clear the gradients."""
        g_N = self._gradients.gather(1.0)
        is_finite = self._scale is None or self._scale.unscale([g_N])
        self._add_decay()
        rate = self._groups[0]["lr"] if is_finite else NO_UPDATE
        loss, *requests = values.flatten().tolist()
        w_N, (mean_loss, *received) = self._exchange(g_N, rate, (loss, *requests))
        self._update(w_N)
        if self._scale is not None:
            self._scale.adjust(was_skipped=not is_finite)
        return values.new_tensor([loss if math.isnan(mean_loss) else mean_loss, *received]).view_as(values)

    def _add_decay(self) -> None:
        """Add the weight decay to the gradients of this step."""
        missing = {self._gradients.params[number] for number in self._gradients.missing}
        for group in self._groups:
            ws = [p for p in group["params"] if p not in missing]
            if group["weight_decay"] and ws:
                torch._foreach_add_([w.grad for w in ws], ws, alpha=group["weight_decay"])

    def _set_weights(self, w_N: Tensor) -> None:
        self._x_N.copy_(w_N)
        for p in self._gradients.params:
            p.grad = None

    def wait_for_all(self) -> None:
        """Wait, on rank 0, until every rank that is not lost has made its last exchange."""
        self._client.wait_for_all()

    @contextmanager
    def evaluation_weights(self) -> Iterator[None]:
        """Yield with the weights of the center on rank 0, and with the last received weights on other ranks."""
        w_N = self._client.read_center()
        own_N = self._x_N.clone()
        if w_N is not None:
            self._x_N.copy_(w_N)
        try:
            yield
        finally:
            self._x_N.copy_(own_N)

    def departed_ranks(self) -> Mapping[int, str | None]:
        """Return the ranks that exchange no more, and why each was lost."""
        return self._client.departed_ranks()

    def start_replica(self, steps: int) -> None:
        """Set the center to this replica's weights."""
        self._client.set_center(self._x_N)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the center, which is empty on ranks other than 0."""
        return {"center": self._client.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of the center."""
        self._client.load_state_dict(state["center"])
