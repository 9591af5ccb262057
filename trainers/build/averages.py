"""The exponential moving average of the weights: a <- d a + (1 - d) w after every step.

The statistics of normalization are averaged too. Every other buffer is a copy of the trained net's, because a mean has
no meaning there: the vectors of spectral normalization have length 1, and a count is a count.
"""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from contract.spec.run import RunSpec
from trainers.models.statistics import statistics


class ExponentialAverage(AveragedModel):
    """torch's AveragedModel without its wait for the GPU, to which it copies its count of steps in every step.

    torch averages either all buffers or none.
    """

    def __init__(self, model: nn.Module, *, decay: float) -> None:
        rule = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]  # torch does not annotate it
        super().__init__(model, multi_avg_fn=rule)
        self._statistics = frozenset(statistics(model))
        self.n_averaged += 1  # the copy is the first average

    @torch.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Average the parameters and statistics of `model` with those before, and copy its other buffers."""
        averaged, current = dict(self.module.named_buffers()), dict(model.named_buffers())
        pairs = [(averaged[name], current[name]) for name in self._statistics if name in current]
        pairs += zip(self.module.parameters(), model.parameters(), strict=True)
        assert self.multi_avg_fn is not None
        for olds, news in _by_type(pairs):
            self.multi_avg_fn(olds, news, self.n_averaged)  # this average does not depend on the number
        self._copy_others(averaged, current)
        self.n_averaged += 1

    def _copy_others(self, averaged: dict[str, Tensor], current: dict[str, Tensor]) -> None:
        """Copy the buffers that are no statistics; a cache may have another shape than before, or no value."""
        same = []
        for name in (averaged.keys() | current.keys()) - self._statistics:
            old, new = averaged.get(name), current.get(name)
            if old is not None and new is not None and old.shape == new.shape:
                same.append((old, new))
            else:
                owner, _, own_name = name.rpartition(".")
                setattr(self.module.get_submodule(owner), own_name, None if new is None else new.detach().clone())
        for olds, news in _by_type(same):
            torch._foreach_copy_(olds, news)


def build_average(run: RunSpec, model: nn.Module) -> AveragedModel | None:
    """Return the average of `model`'s weights and statistics, starting at their current values, if the run has one.

    Call `update_parameters(model)` after each step; `module` is the model to evaluate; `state_dict()` is complete.
    Raise ValueError if the net cannot be copied.
    """
    if run.ema_decay is None:
        return None
    try:
        return ExponentialAverage(model, decay=run.ema_decay)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # whatever a user's own class raises when it is copied
        raise ValueError(
            f"ema_decay averages the weights in a copy of the net, and {_why_not(model, error)}"
        ) from error


def _by_type(pairs: list[tuple[Tensor, Tensor]]) -> list[tuple[list[Tensor], list[Tensor]]]:
    """Return the old and the new tensors of each type, for one call of torch."""
    found: dict[torch.dtype, tuple[list[Tensor], list[Tensor]]] = {}
    for old, new in pairs:
        olds, news = found.setdefault(old.dtype, ([], []))
        olds.append(old.detach())
        news.append(new.detach())
    return list(found.values())


def _why_not(model: nn.Module, error: Exception) -> str:
    """Return why a net cannot be copied: the cause is in the last module without a copy, since others contain it."""
    for name, module in reversed(list(model.named_modules())):
        layer = f"its layer {name} ({type(module).__name__})" if name else f"the net itself ({type(module).__name__})"
        computed = [of for of, value in vars(module).items() if isinstance(value, Tensor) and not value.is_leaf]
        if computed:
            cause = f"{computed[0]} of {layer} is computed from other weights, as by torch.nn.utils.weight_norm"
            return f"{cause}: use torch.nn.utils.parametrizations, whose layers can be copied"
        if not _can_copy(module):
            return f"{layer} cannot be copied: {error}"
    return f"the net cannot be copied: {error}"


def _can_copy(module: nn.Module) -> bool:
    try:
        deepcopy(module)
    except Exception:
        return False
    return True
