"""One step: forward and backward on this rank's part of the global batch, then what the rule makes of it."""

from torch import nn

from trainers.data.split import Batch
from trainers.losses.loss import Loss
from trainers.rules.rule import Rule
from trainers.wishes import Wishes


class Step:
    """Moves the model by one step per call."""

    def __init__(self, model: nn.Module, loss: Loss, rule: Rule) -> None:
        self._model, self._loss, self._rule = model, loss, rule
        self.wishes = Wishes()

    def __call__(self, batch: Batch) -> float:
        """Take one step; return the global batch's mean loss, as it was before the step."""
        inputs, target = batch
        self._rule.begin()
        loss = self._loss(self._model(inputs), target)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._rule.replicas_differ:  # they go their own ways: nobody hears of a wish at the same step
            return self._rule.step(loss.detach()).item()
        mean_loss, *wishes = self._rule.step(self.wishes.with_loss(loss.detach())).tolist()
        self.wishes.hear(wishes)
        return float(mean_loss)
