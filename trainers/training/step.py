"""One step: forward and backward over this rank's part of the global batch, then what the rule makes of it.

The part may come in k passes (micro-batches) of b_i samples, b = sum_i b_i. With the loss L_i a mean over its samples

    sum_i b_i/b grad L_i = grad L

the gradients add up to that of the whole part; only batch normalization sees passes, not the part.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from trainers.data.split import Placed
from trainers.losses.loss import Loss
from trainers.recovery.step_agreement import Wishes
from trainers.rules.rule import Rule
from trainers.training.precision import LossScale, Precision


class Step:
    """Moves the model by one step per call."""

    def __init__(
        self, model: nn.Module, loss: Loss, rule: Rule, *, precision: Precision, scale: LossScale | None = None
    ) -> None:
        self._model, self._loss, self._rule = model, loss, rule
        self.wishes = Wishes()
        self._precision, self._scale = precision, scale

    def __call__(self, passes: Iterable[Placed], *, samples: int) -> float:
        """Take one step over `samples` samples of this rank; return the global batch's mean loss before the step."""
        self._rule.begin(self.wishes.told)
        part_losses, left = [], samples
        for batch in passes:
            left -= len(batch[1])
            part_losses.append(self._pass(batch, samples, is_last=left == 0))
        loss = torch.stack(part_losses).sum()
        mean_loss, *wishes = self._rule.step(self.wishes.with_loss(loss)).tolist()
        self.wishes.hear(wishes)
        return float(mean_loss)

    def _pass(self, batch: Placed, samples: int, *, is_last: bool) -> Tensor:
        inputs, target = batch
        with self._precision.passes():
            loss = self._loss(self._model(*inputs), target) * (len(target) / samples)
        scaled = loss if self._scale is None else loss * self._scale.scale
        if is_last:
            self._rule.last_pass()
        scaled.backward()  # type: ignore[no-untyped-call]
        return loss.detach()
