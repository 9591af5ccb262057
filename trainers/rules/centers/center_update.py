"""What a served center does with a replica's message: a part of the vector comes in, its answer goes out."""

from typing import Protocol

import torch
from torch import Tensor


class Move(Protocol):
    c_N: Tensor  # the center

    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        """Move c[part]; `number` is what the message's sender goes by: its alpha or its rate."""
        ...


class Towards:
    """Elastic: the message is where the replica is, the answer where the center was.

    c <- c + alpha (x_i - c)                                                     (2), for the one that arrives
    """

    def __init__(self, start_N: Tensor) -> None:
        self.c_N = start_N.clone()

    @torch.no_grad()
    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        answer_n.copy_(self.c_N[part])
        # from the answer, so that center and replica move by the same d even where nobody locks
        self.c_N[part].add_(message_n - answer_n, alpha=number)


class Along:
    """Asynchronous SGD: the message is a gradient, the answer the weights after the step.

    V <- mu V - eta g,   W <- W + V                                                               (3), (4)
    """

    def __init__(self, start_N: Tensor, *, momentum: float = 0.0) -> None:
        self.c_N, self.v_N, self._momentum = start_N.clone(), torch.zeros_like(start_N), momentum

    @torch.no_grad()
    def __call__(self, part: slice, message_n: Tensor, number: float, *, answer_n: Tensor) -> None:
        if self._momentum:
            v_n = self.v_N[part].mul_(self._momentum).sub_(message_n, alpha=number)
            self.c_N[part] += v_n
        else:
            self.c_N[part].sub_(message_n, alpha=number)
        answer_n.copy_(self.c_N[part])
