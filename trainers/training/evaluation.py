"""Loss and accuracy on the held-out split, computed by all ranks together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from contract import metric_names as series
from trainers.collectives.runners.timeout import Watch
from trainers.data.loader import load
from trainers.data.split import Placed, Split, to_device
from trainers.tasks.task import Task
from trainers.training.precision import Precision


@dataclass(frozen=True)
class Evaluation:
    """What a net is judged by, and in passes of how many samples."""

    heldout: Split
    task: Task
    batch: int
    precision: Precision
    device: torch.device
    workers: int = 0  # processes of this rank that make batches ahead
    watch: Watch = field(default_factory=Watch)

    def __call__(self, model: nn.Module, *, alone: bool = False) -> dict[str, float]:
        """Judge a net over all that is held out; all ranks call this together, and evaluate the same function.

        `alone`: this rank takes all, and the others need not be there.
        """
        if not alone:
            average_statistics(model, self.watch)
        model.eval()
        loss, accuracy = self._judged(model, alone=alone)
        model.train()
        return {series.HELDOUT_LOSS: loss, series.HELDOUT_ACCURACY: accuracy}

    @torch.no_grad()
    def _judged(self, model: nn.Module, *, alone: bool) -> tuple[float, float]:
        """Mean loss and accuracy; rank r of n takes samples r, r + n, r + 2n, ..."""
        rank, world = (0, 1) if alone else (dist.get_rank(), dist.get_world_size())
        sums_3 = torch.zeros(3, dtype=torch.float64, device=self.device)
        mine_N = torch.arange(rank, len(self.heldout), world)
        for made in load(self.heldout, torch.split(mine_N, self.batch), workers=self.workers):
            inputs, target = to_device(made, self.device)
            with self.precision.passes():
                output = model(*inputs)
            sums_3 += self.task.tally(output, target)
        if not alone:
            self.watch.all_reduce(sums_3)
        loss, right, count = sums_3.tolist()
        return loss / count, right / count


@torch.no_grad()
def average_statistics(model: nn.Module, watch: Watch) -> None:
    """Average batch normalization's means and variances over the ranks, each of which saw other images.

    Training does not read them, so it goes on as before. Akiba, Suzuki & Fukuda (2017) average those of the last batch
    alone, which a large batch makes better estimates than a moving average over weights that are gone.
    """
    buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    if not buffers:
        return
    flat_N = torch.cat([buffer.flatten() for buffer in buffers]) / dist.get_world_size()
    watch.all_reduce(flat_N)
    for buffer, part in zip(buffers, torch.split(flat_N, [buffer.numel() for buffer in buffers]), strict=True):
        buffer.copy_(part.view_as(buffer))


@torch.no_grad()
def recalibrate(model: nn.Module, batches: Iterable[Placed]) -> None:
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
        model(*inputs)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
