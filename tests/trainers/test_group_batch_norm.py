"""Group batch normalization on ranks equals torch's on the concatenated batch in one process."""

from functools import partial

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.spec.normalization import BatchNorm
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build.normalization import set_up_batch_norm

WORLD, SHARE = 4, 3
SHAPES: dict[type[nn.Module], tuple[int, ...]] = {nn.BatchNorm1d: (5,), nn.BatchNorm2d: (5, 4, 3)}
Results = dict[str, Tensor]


def batch(kind: type[nn.Module]) -> tuple[Tensor, Tensor]:
    """Return the batch of all ranks, with different data per rank, and the weights of the loss."""
    generator = torch.Generator().manual_seed(0)
    x_BCS = torch.randn(WORLD * SHARE, *SHAPES[kind], generator=generator, dtype=torch.float32)
    x_BCS *= torch.arange(1, WORLD * SHARE + 1).view(-1, *[1] * len(SHAPES[kind]))
    return x_BCS + 3, torch.randn(x_BCS.shape, generator=generator)


def pass_through(kind: type[nn.Module], norm: nn.Module, x_BCS: Tensor, weight_BCS: Tensor) -> Results:
    """Run two forward and backward passes, and one evaluation pass."""
    x_BCS = x_BCS.clone().requires_grad_()
    for _ in range(2):
        y_BCS = norm(x_BCS)
        (y_BCS * weight_BCS).mean().backward()  # type: ignore[no-untyped-call]
    assert x_BCS.grad is not None
    gradients = {f"grad {name}": p.grad.clone() for name, p in norm.named_parameters() if p.grad is not None}
    return {
        "y": y_BCS.detach(),
        "dx": x_BCS.grad,
        **gradients,
        **dict(norm.named_buffers()),
        "eval": norm.eval()(x_BCS),
    }


def one_rank(kind: type[nn.Module], group: int) -> Results:
    x_BCS, weight_BCS = (part.chunk(WORLD)[dist.get_rank()] for part in batch(kind))
    net = nn.Sequential(kind(5))
    set_up_batch_norm(net, BatchNorm(group=group), timed=lambda gather: gather)
    return {name: answer.detach() for name, answer in pass_through(kind, net[0], x_BCS, weight_BCS).items()}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("group", [2, 4])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_group_equals_one_process_with_the_concatenated_batch(kind: type[nn.Module], group: int) -> None:
    ranks = on_ranks(WORLD, partial(one_rank, kind, group))
    groups = [ranks[first : first + group] for first in range(0, WORLD, group)]
    shares = zip(*(part.chunk(WORLD // group) for part in batch(kind)), strict=True)
    for members, (x_BCS, weight_BCS) in zip(groups, shares, strict=True):
        alone = pass_through(kind, kind(5), x_BCS, weight_BCS)
        for name, expected in alone.items():
            if name in ("y", "eval", "dx"):  # per sample; a rank's mean loss is over its own samples
                answer = torch.cat([member[name] for member in members]) / (group if name == "dx" else 1)
                torch.testing.assert_close(answer, expected.detach(), rtol=1e-5, atol=1e-6)
            elif name.startswith("grad"):
                mean = torch.stack([member[name] for member in members]).mean(0)
                torch.testing.assert_close(mean, expected, rtol=1e-5, atol=1e-6)
            else:
                for member in members:
                    torch.testing.assert_close(member[name], expected, rtol=1e-6, atol=1e-6)


def test_last_batch_statistics_ignore_earlier_batches() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2))
    set_up_batch_norm(net, BatchNorm(statistics="last_batch"), timed=lambda gather: gather)
    for x_BC in (torch.full((2, 2), 9.0), torch.tensor([[1.0, 2.0], [3.0, 6.0]])):
        net(x_BC)
    mean_C, variance_C, _ = net[0].buffers()
    assert (mean_C.tolist(), variance_C.tolist()) == ([2.0, 4.0], [2.0, 8.0])
