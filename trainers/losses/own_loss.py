"""A user's loss: any function of output and target, whose result is checked."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from trainers.losses.loss import Output


class OwnLoss:
    """Calls `loss(output, target)`; `name` stands in error messages."""

    def __init__(self, loss: Callable[[Output, Tensor], Any], *, name: str) -> None:
        self._loss, self._name = loss, name

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss; raise TypeError if it is not one number."""
        loss = self._loss(output, target)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            found = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
            raise TypeError(f"the loss {self._name} returned {found}, not a scalar tensor: the mean over the batch")
        return loss.reshape(())
