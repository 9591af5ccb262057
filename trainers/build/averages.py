"""The exponential moving average of the weights.

a <- d a + (1 - d) w      after every step (Polyak & Juditsky, 1992, in the form of today's recipes)
"""

from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def average(model: nn.Module, decay: float) -> AveragedModel:
    """Return the average of `model`'s weights and statistics, which begins as they are now.

    `update_parameters(model)` after each step takes them in; `module` is the net to evaluate; `state_dict()` is whole.
    """
    rule = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    averaged = AveragedModel(model, multi_avg_fn=rule, use_buffers=True)
    averaged.update_parameters(model)  # the first is a plain copy
    return averaged
