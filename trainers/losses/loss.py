"""The interface of a loss: a function of a net's output and the target that training minimizes."""

from typing import Protocol

import torch
from torch import Tensor

Output = Tensor | tuple[Tensor, ...]  # logits; with auxiliary heads a tuple, the last head's logits first


class Loss(Protocol):
    """Compare a net's output with the target."""

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the mean over the samples of the batch, a scalar.

        All samples have equal weight, so the mean over equal parts of a batch is the mean over the batch: the number of
        ranks and of micro-batches does not change the loss.
        """
        ...


def only_output(output: Output) -> Tensor:
    """Return a net's only output; raise TypeError if the net has several, whose weights are unknown."""
    if isinstance(output, Tensor):
        return output
    message = f"in training the net returns {len(output)} outputs but has no aux_weight for the auxiliary ones"
    raise TypeError(message)


def to_float32(logits: Tensor) -> Tensor:
    """Return logits in at least float32; a 16-bit softmax over many classes has two or three correct digits."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
