"""Loss and accuracy on the held-out split, computed by all ranks together."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy

from trainers.data.split import Split


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
def evaluate(model: nn.Module, heldout: Split, *, batch: int, device: torch.device) -> tuple[float, float]:
    """Return mean loss and accuracy over all of `heldout`; rank r of n takes images r, r + n, r + 2n, ..."""
    model.eval()
    total_loss, correct, seen = 0.0, 0, 0
    mine_N = torch.arange(dist.get_rank(), len(heldout), dist.get_world_size())
    for index_B in torch.split(mine_N, batch):
        x_BCHW, y_B = (part.to(device) for part in heldout.batch(index_B))
        logits_BK = model(x_BCHW)
        total_loss += cross_entropy(logits_BK, y_B, reduction="sum").item()
        correct += int((logits_BK.argmax(dim=1) == y_B).sum())
        seen += len(y_B)
    model.train()
    # float64 counts exactly up to 2^53 images
    sums_3 = torch.tensor([total_loss, correct, seen], dtype=torch.float64, device=device)
    dist.all_reduce(sums_3)
    loss, right, count = sums_3.tolist()
    return loss / count, right / count
