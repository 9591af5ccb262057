"""The reference's means: of the ranks' statistics before an evaluation, and of the weights over the steps."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tests.testing.trainers.differential.outcome import copies

STATISTICS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.InstanceNorm1d)


def statistics_of(net: nn.Module) -> list[str]:
    """Return the names of the running means and variances of normalization."""
    norms = [name for name, module in net.named_modules() if isinstance(module, STATISTICS)]
    return [f"{name}.{part}" for name in norms for part in ("running_mean", "running_var")]


def average_statistics(buffers: Sequence[dict[str, Tensor]], net: nn.Module) -> None:
    """Replace the statistics of every rank by their mean; other buffers are the rank's own."""
    for name in statistics_of(net):
        mean = torch.stack([of_rank[name] for of_rank in buffers]).mean(dim=0)
        for of_rank in buffers:
            of_rank[name].copy_(mean)


class Average:
    """a = d a + (1 - d) w for weights and statistics of normalization, from their first values on.

    Other buffers, such as counters and masks, are those of the last step.
    """

    def __init__(self, net: nn.Module, decay: float) -> None:
        self.decay, self.statistics = decay, {*statistics_of(net)}
        self.parameters, self.buffers = copies(dict(net.named_parameters())), copies(dict(net.named_buffers()))

    @torch.no_grad()
    def update(self, net: nn.Module) -> None:
        """Add the weights and statistics after a step."""
        for name, p in net.named_parameters():
            self.parameters[name].mul_(self.decay).add_(p, alpha=1 - self.decay)
        for name, buffer in net.named_buffers():
            if name in self.statistics:
                self.buffers[name].mul_(self.decay).add_(buffer, alpha=1 - self.decay)
            else:
                self.buffers[name].copy_(buffer)

    @torch.no_grad()
    def copy_to(self, net: nn.Module) -> None:
        """Give a net the averages."""
        for name, p in net.named_parameters():
            p.copy_(self.parameters[name])
        for name, buffer in net.named_buffers():
            buffer.copy_(self.buffers[name])
