"""Loss and accuracy on the held-out split, computed by all ranks together."""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from trainers.data.loader import load
from trainers.data.split import Batch, Split, to_device
from trainers.tasks.task import Task


@torch.no_grad()
def average_statistics(model: nn.Module) -> None:
    """Average batch normalization's running means and variances over the ranks, each of which saw other images.

    Training does not read them, so it goes on as before; afterwards all ranks evaluate the same function.
    """
    buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    if not buffers:
        return
    flat_N = torch.cat([buffer.flatten() for buffer in buffers]) / dist.get_world_size()
    dist.all_reduce(flat_N)
    for buffer, part in zip(buffers, torch.split(flat_N, [buffer.numel() for buffer in buffers]), strict=True):
        buffer.copy_(part.view_as(buffer))


@torch.no_grad()
def recalibrate(model: nn.Module, batches: Iterable[Batch]) -> None:
    """Take batch normalization's means and variances anew, as plain means over `batches`.

    Averaged weights need it: no batch has gone through them (Izmailov et al., 2018, section 3.2).
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # torch's word for a cumulative mean
    for inputs, _ in batches:
        model(inputs)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


@torch.no_grad()
def evaluate(
    model: nn.Module, heldout: Split, task: Task, *, batch: int, workers: int = 0, alone: bool = False
) -> tuple[float, float]:
    """Return mean loss and accuracy over all of `heldout`; rank r of n takes samples r, r + n, r + 2n, ...

    `alone`: this rank takes all, and the others need not be there.
    """
    rank, world = (0, 1) if alone else (dist.get_rank(), dist.get_world_size())
    device = device_of(model)
    model.eval()
    sums_3 = torch.zeros(3, dtype=torch.float64, device=device)
    mine_N = torch.arange(rank, len(heldout), world)
    for made in load(heldout, torch.split(mine_N, batch), workers=workers):
        inputs, target = to_device(made, device)
        sums_3 += task.tally(model(inputs), target)
    model.train()
    if not alone:
        dist.all_reduce(sums_3)
    loss, right, count = sums_3.tolist()
    return loss / count, right / count


def device_of(model: nn.Module) -> torch.device:
    """Where a model's tensors lie; the CPU for one that has none."""
    return next((tensor.device for tensor in (*model.parameters(), *model.buffers())), torch.device("cpu"))
