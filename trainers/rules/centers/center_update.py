"""CenterUpdate: how a served center processes a part of a replica's message, and its two kinds."""

import math
from typing import Protocol

import torch
from torch import Tensor

NO_UPDATE = math.nan  # in place of a rate: answer, and leave the center as it is


class CenterUpdate(Protocol):
    """Updates a part of the center by a part of a message, and writes the answer."""

    c_N: Tensor  # the center

    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        """Update c[part] and write the answer; `number` is the sender's alpha or learning rate."""
        ...


class ElasticUpdate:
    """Elastic averaging: the message is the replica's position, the answer is the center before the update.

    c <- c + alpha (x_i - c)                                                     (2), for each message
    """

    def __init__(self, start_N: Tensor) -> None:
        self.c_N = start_N.clone()

    @torch.no_grad()
    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        """Move c[part] towards the message."""
        answer_n.copy_(self.c_N[part])
        # compute from the answer, so that center and replica move by the same d even without a lock
        self.c_N[part].add_(message_n - answer_n, alpha=number)


class GradientUpdate:
    """Asynchronous SGD: the message is a gradient, the answer is the weights after the step.

    V <- mu V - eta g,   W <- W + V                                                               (3), (4)

    A message with NO_UPDATE in place of eta changes neither V nor W.
    """

    def __init__(self, start_N: Tensor, *, momentum: float = 0.0) -> None:
        self.c_N, self.v_N, self._momentum = start_N.clone(), torch.zeros_like(start_N), momentum

    @torch.no_grad()
    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        """Step c[part] along the gradient in the message."""
        if not math.isnan(number):
            self._move(part, message_n, number)
        answer_n.copy_(self.c_N[part])

    def _move(self, part: slice, g_n: Tensor, eta: float) -> None:
        if self._momentum:
            v_n = self.v_N[part].mul_(self._momentum).sub_(g_n, alpha=eta)
            self.c_N[part] += v_n
        else:
            self.c_N[part].sub_(g_n, alpha=eta)
