"""The base class of LARS, LAMB and SGD with the rate inside: a step that updates lists of layers."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainers.optimizers.layers import dense_gradients, group_layers


class LayerOptimizer(torch.optim.Optimizer):
    """Updates the parameters that have a gradient, in lists of one device and one dtype."""

    # torch's own signature is overloaded, and a closure that returns a float is what all callers give
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update all parameters that have a gradient; return the closure's loss, if there is a closure."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for ws in group_layers(group["params"]):
                self._update(ws, dense_gradients(ws), group)
        return loss

    @abstractmethod
    def _update(self, ws: list[Tensor], gs: list[Tensor], group: dict[str, Any]) -> None:
        """Update the weights `ws` of a group by their gradients `gs`."""
