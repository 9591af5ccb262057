"""The exponential moving average of the weights: a <- d a + (1 - d) w after every step."""

from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from contract.spec.run import RunSpec


def average(run: RunSpec, model: nn.Module) -> AveragedModel | None:
    """Return the average of `model`'s weights and statistics, which begins as they are now, where the run wants one.

    `update_parameters(model)` after each step takes them in; `module` is the net to evaluate; `state_dict()` is whole.
    """
    if run.ema_decay is None:
        return None
    rule = get_ema_multi_avg_fn(run.ema_decay)  # type: ignore[no-untyped-call]
    averaged = AveragedModel(model, multi_avg_fn=rule, use_buffers=True)
    averaged.update_parameters(model)  # the first is a plain copy
    return averaged
