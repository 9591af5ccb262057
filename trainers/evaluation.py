"""Loss and accuracy on the held-out split, computed by all ranks together."""

import torch
import torch.distributed as dist
from torch import nn

from trainers.data.split import Split
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
def evaluate(model: nn.Module, heldout: Split, task: Task, *, batch: int) -> tuple[float, float]:
    """Return mean loss and accuracy over all of `heldout`; rank r of n takes samples r, r + n, r + 2n, ..."""
    device = device_of(model)
    model.eval()
    sums_3 = torch.zeros(3, dtype=torch.float64, device=device)
    mine_N = torch.arange(dist.get_rank(), len(heldout), dist.get_world_size())
    for index_B in torch.split(mine_N, batch):
        inputs, target = (part.to(device) for part in heldout.batch(index_B))
        sums_3 += task.tally(model(inputs), target)
    model.train()
    dist.all_reduce(sums_3)
    loss, right, count = sums_3.tolist()
    return loss / count, right / count


def device_of(model: nn.Module) -> torch.device:
    """Where a model's tensors lie; the CPU for one that has none."""
    return next((tensor.device for tensor in (*model.parameters(), *model.buffers())), torch.device("cpu"))
