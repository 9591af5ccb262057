"""How replicas agree: what happens between one backward pass and the next forward pass."""

from typing import Protocol

from torch import Tensor


class Rule(Protocol):
    """Moves this rank's replica by one step."""

    def step(self, loss: Tensor) -> Tensor:
        """Use up the gradients of a backward pass; return the mean over the global batch of every rank's `loss`.

        The loss goes through the rule because only the rule knows when the ranks talk and how: a message of its
        own for one number would cost a large world as many latencies as the gradients do.
        """
        ...
