"""Tasks: how a model's outputs are evaluated on held-out samples, independently of the training loss."""

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from trainers.losses import LeastOutputs, Loss, to_float32


class Task(Protocol):
    """Computes the held-out loss and accuracy."""

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return a batch's sum of losses, number of correct answers, and number of answers, as float64 (3)."""
        ...


class Classification:
    """One of K classes per sample: held-out loss and accuracy are means over images."""

    def tally(self, output_BK: Tensor, y_B: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct images, and the number of images."""
        loss = cross_entropy(to_float32(output_BK), y_B, reduction="sum")
        correct = (output_BK.argmax(dim=1) == y_B).sum()
        # float64 counts exactly up to 2^53 samples
        return torch.stack([loss.double(), correct.double(), torch.tensor(len(y_B), device=loss.device)])


class Segmentation:
    """One of K classes for each voxel: held-out loss and accuracy are means over voxels."""

    def tally(self, output_BKZYX: Tensor, y_BZYX: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct voxels, and the number of voxels."""
        loss = cross_entropy(to_float32(output_BKZYX), y_BZYX, reduction="sum")
        correct = (output_BKZYX.argmax(dim=1) == y_BZYX).sum()
        return torch.stack([loss.double(), correct.double(), torch.tensor(y_BZYX.numel(), device=loss.device)])


class LanguageModel:
    """The next of V tokens at every position: held-out loss and accuracy are means over tokens.

    With a mean cross-entropy of L nats per token the perplexity is e^L, and a text of bytes takes L / ln 2 bits per
    byte.
    """

    def tally(self, output_BTV: Tensor, next_BT: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct tokens, and the number of tokens."""
        logits_NV, next_N = to_float32(output_BTV).flatten(0, 1), next_BT.flatten()
        loss = cross_entropy(logits_NV, next_N, reduction="sum")
        correct = (logits_NV.argmax(dim=1) == next_N).sum()
        return torch.stack([loss.double(), correct.double(), torch.tensor(len(next_N), device=loss.device)])


class Translation:
    """One of V tokens at every position of every sentence: means over the tokens that differ from `padding`.

    The exponential of the held-out loss, the mean cross-entropy of a token, is the perplexity. The accuracy is the
    fraction of tokens that have the largest logit, given the true tokens before them. The training loss is per sentence
    instead (`trainers.losses.Translation` gives the reason).
    """

    def __init__(self, *, padding: int) -> None:
        self.padding = padding

    def tally(self, output_BTV: Tensor, y_BT: Tensor) -> Tensor:
        """Return the sum of cross-entropies, the number of correct tokens, and the number of tokens."""
        is_token_BT = y_BT != self.padding
        logits_NV, y_N = to_float32(output_BTV)[is_token_BT], y_BT[is_token_BT]
        loss = cross_entropy(logits_NV, y_N, reduction="sum")
        correct = (logits_NV.argmax(dim=1) == y_N).sum()
        return torch.stack([loss.double(), correct.double(), is_token_BT.sum()])


class OwnTask:
    """A user's loss: the held-out loss is its mean over samples, the accuracy the fraction of right classes."""

    def __init__(self, loss: Loss, *, has_classes: bool) -> None:
        self._loss, self._has_classes = loss, has_classes

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the sum of losses, the number of correct answers (NaN: the targets are no classes), and the count.

        The sum of losses is NaN if an output for a class is, even where a user's loss hides it: argmax would count NaN
        as the largest output.
        """
        count = len(target)
        loss = self._loss(output, target).double() * count
        if not (self._has_classes and isinstance(output, Tensor) and output.dim() == target.dim() + 1):
            return torch.stack([loss, loss.new_tensor(math.nan), loss.new_tensor(count)])
        loss = loss.masked_fill(output.isnan().any(), math.nan)
        correct = (output.argmax(dim=1) == target).sum().double()
        return torch.stack([loss, correct, loss.new_tensor(count)])


class CheckedTask:
    """Evaluates as `task` does, after a check of the outputs: a net may return others in an evaluation."""

    def __init__(self, task: Task, least: LeastOutputs) -> None:
        self.task, self.least = task, least

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the task's sums; raise ValueError if the net has too few outputs."""
        self.least.check(output)
        return self.task.tally(output, target)
