"""What a training step makes small: a net's output and the truth, turned into one number."""

from typing import Protocol

import torch
from torch import Tensor

Output = Tensor | tuple[Tensor, ...]  # logits; with auxiliary heads, theirs behind those of the last one


class Loss(Protocol):
    """Compares what a net says with what is true."""

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the mean over the samples of the batch, a scalar.

        Every sample weighs alike, so the mean over equal shares of a batch is the mean over the batch: neither ranks
        nor micro-batches change what is minimized.
        """
        ...


def one(output: Output) -> Tensor:
    """A net's only output; raises TypeError where it has several and nobody says how much the others count."""
    if isinstance(output, Tensor):
        return output
    message = f"in training the net returns {len(output)} outputs, and has no aux_weight for those behind the first"
    raise TypeError(message)


def wide(logits: Tensor) -> Tensor:
    """Logits in float32 at least: in 16 bits the sum of a softmax over many classes keeps two or three digits."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
