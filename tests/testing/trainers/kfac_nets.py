"""The net, the data and a training of K-FAC that its tests share."""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.testing.trainers.kfac_oracle import GROUPS, IMAGES, Geometry
from trainers.collectives.runners.allreduce import Allreduce
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.options import KFACOptions
from trainers.rules.sync import Sync

RATE, CLASSES = 0.1, 5
CONVOLUTIONS: dict[int, Any] = {2: nn.Conv2d, 3: nn.Conv3d}


def make_net(dtype: torch.dtype = torch.float64, of: Geometry = IMAGES) -> nn.Sequential:
    """Return a grouped convolution and two linear layers, one of them without bias."""
    torch.manual_seed(0)
    sizes: Any = {"stride": of.stride, "padding": of.padding, "dilation": of.dilation, "groups": GROUPS}
    convolution = CONVOLUTIONS[len(of.kernel)](of.shape[0], 6, of.kernel, **sizes)
    net = nn.Sequential(
        convolution,
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(6 * prod(of.locations), 7),
        nn.Tanh(),
        nn.Linear(7, CLASSES, bias=False),
    )
    return net.to(dtype)


def batches(
    count: int, size: int, dtype: torch.dtype = torch.float64, of: Geometry = IMAGES
) -> list[tuple[Tensor, Tensor]]:
    """Return batches of random images or volumes and classes."""
    generator = torch.Generator().manual_seed(1)
    return [
        (
            torch.randn(size, *of.shape, generator=generator, dtype=torch.float64).to(dtype),
            torch.randint(CLASSES, (size,), generator=generator),
        )
        for _ in range(count)
    ]


def train(
    net: nn.Module,
    data: Sequence[tuple[Tensor, Tensor]],
    options: KFACOptions,
    *,
    allreduce: Allreduce | None = None,
    passes: int = 1,
    **of_rule: Any,
) -> KFAC:
    """Train a net by momentum SGD with K-FAC: alone, or on this rank's share of each batch."""
    rank, world = (dist.get_rank(), dist.get_world_size()) if allreduce else (0, 1)
    kfac = KFAC(net, options, rank=rank, world=world)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9)
    kfac.attach(optimizer)
    rule = Sync(net.parameters(), optimizer, allreduce=allreduce or _alone, world=world, preconditioner=kfac, **of_rule)
    for x_BCHW, y_B in data:
        own = slice(rank * len(y_B) // world, (rank + 1) * len(y_B) // world)
        parts = list(zip(x_BCHW[own].chunk(passes), y_B[own].chunk(passes), strict=True))
        total = torch.zeros(())
        for number, (x, y) in enumerate(parts):
            loss = cross_entropy(net(x), y) * (len(y) / len(y_B[own]))
            total = total + loss.detach()
            if number == passes - 1:
                rule.mark_last_pass(total)
            loss.backward()
        rule.step(total)
    return kfac


def _alone(x_N: Tensor) -> None:
    """Do nothing: the sum over a world of one."""
