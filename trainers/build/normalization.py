"""Set up batch normalization: the samples over which it computes its statistics."""

from collections.abc import Callable

import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from contract.spec.normalization import BatchNorm
from trainers.models.group_batch_norm import Gather, join

CallTimer = Callable[[Gather], Gather]


def set_up_batch_norm(model: nn.Module, choice: BatchNorm, *, timed: CallTimer) -> None:
    """Set up the batch normalization of a model as chosen; all ranks call this together."""
    if choice.statistics == "last_batch":
        for norm in (module for module in model.modules() if isinstance(module, _BatchNorm)):
            norm.momentum = 1.0
    if choice.group > 1:
        group, _ = dist.new_subgroups(choice.group)  # type: ignore[no-untyped-call]  # torch does not annotate it
        join(model, timed(lambda x_C: _gather(x_C, group, size=choice.group)))


def _gather(x_C: Tensor, group: dist.ProcessGroup, *, size: int) -> Tensor:
    x_GC = x_C.new_empty(size, len(x_C))
    dist.all_gather(list(x_GC.unbind()), x_C, group=group)
    return x_GC
