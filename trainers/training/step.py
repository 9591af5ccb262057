"""TrainingStep: forward and backward over this rank's part of the global batch, then the rule's update.

The part may be divided into k passes (micro-batches) of b_i samples, b = sum_i b_i. If the loss L_i is a mean,

    sum_i b_i/b grad L_i = grad L

the gradients of the passes add up to the gradient of the whole part; only batch normalization depends on the passes.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from trainers.data.split import DeviceBatch
from trainers.losses import Loss
from trainers.recovery.step_agreement import StepAgreement
from trainers.rules.rule import Rule
from trainers.training.precision import LossScale, Precision


class TrainingStep:
    """Trains the model by one step per call."""

    def __init__(
        self, model: nn.Module, loss: Loss, rule: Rule, *, precision: Precision, scale: LossScale | None = None
    ) -> None:
        self._model, self._loss, self._rule = model, loss, rule
        self.agreement = StepAgreement()
        self._precision, self._scale = precision, scale

    def __call__(self, passes: Iterable[DeviceBatch], *, samples: int) -> float:
        """Take one step with `samples` samples of this rank; return the global batch's mean loss before the step."""
        self._rule.begin_step(self.agreement.requests)
        remaining, values = samples, None
        losses: list[Tensor] = []
        for batch in passes:
            remaining -= len(batch[1])
            part = self._forward(batch, samples)
            losses.append(part.detach())
            if remaining == 0:
                values = self.agreement.append_to_loss(losses[0] if len(losses) == 1 else torch.stack(losses).sum())
                self._rule.mark_last_pass(values)
            self._backward(part)
        assert values is not None, f"the passes of the step lack {remaining} of {samples} samples"
        mean_loss, *requests = self._rule.step(values).tolist()
        self.agreement.receive(requests)
        return float(mean_loss)

    def _forward(self, batch: DeviceBatch, samples: int) -> Tensor:
        inputs, target = batch
        with self._precision.passes():
            loss = self._loss(self._model(*inputs), target)
        return loss if len(target) == samples else loss * (len(target) / samples)

    def _backward(self, loss: Tensor) -> None:
        scaled = loss if self._scale is None else loss * self._scale.scale
        scaled.backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
