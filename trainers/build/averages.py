"""The exponential moving average of the weights: a <- d a + (1 - d) w after every step."""

from itertools import chain

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from contract.spec.run import RunSpec


class ExponentialAverage(AveragedModel):
    """torch's AveragedModel without its wait for the GPU, to which it copies its count of steps in every step."""

    @torch.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Average the weights and buffers of `model` with those before; the first call copies them."""
        if self.n_averaged == 0:  # in the host's memory
            super().update_parameters(model)
            return
        averaged = chain(self.module.parameters(), self.module.buffers())
        current = chain(model.parameters(), model.buffers())
        by_type: dict[torch.dtype, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
        for old, new in zip(averaged, current, strict=True):
            olds, news = by_type.setdefault(old.dtype, ([], []))
            olds.append(old.detach())
            news.append(new.detach())
        assert self.multi_avg_fn is not None
        for olds, news in by_type.values():
            self.multi_avg_fn(olds, news, self.n_averaged)  # this average does not depend on the number
        self.n_averaged += 1


def build_average(run: RunSpec, model: nn.Module) -> AveragedModel | None:
    """Return the average of `model`'s weights and statistics, starting at their current values, if the run has one.

    Call `update_parameters(model)` after each step; `module` is the model to evaluate; `state_dict()` is complete.
    """
    if run.ema_decay is None:
        return None
    rule = get_ema_multi_avg_fn(run.ema_decay)  # type: ignore[no-untyped-call]  # torch does not annotate it
    averaged = ExponentialAverage(model, multi_avg_fn=rule, use_buffers=True)
    averaged.update_parameters(model)  # the first update is a plain copy
    return averaged
