"""The exponential moving average of the weights: a <- d a + (1 - d) w after every step."""

from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from contract.spec.run import RunSpec


def build_average(run: RunSpec, model: nn.Module) -> AveragedModel | None:
    """Return the average of `model`'s weights and statistics, starting at their current values, if the run has one.

    Call `update_parameters(model)` after each step; `module` is the model to evaluate; `state_dict()` is complete.
    """
    if run.ema_decay is None:
        return None
    rule = get_ema_multi_avg_fn(run.ema_decay)  # type: ignore[no-untyped-call]  # torch does not annotate it
    averaged = AveragedModel(model, multi_avg_fn=rule, use_buffers=True)
    averaged.update_parameters(model)  # the first update is a plain copy
    return averaged
