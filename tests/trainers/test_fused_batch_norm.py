"""Group batch normalization by SyncBatchNorm's kernels equals the one without.

The kernels run on GPUs only. Here they are written in plain torch, by their contract in SyncBatchNorm's own function
(torch/nn/modules/_functions.py), so that the order and the shapes of the calls are those of a GPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.spec.normalization import BatchNorm
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build.normalization import set_up_batch_norm
from trainers.models import group_batch_norm

WORLD, SHARE = 4, 3
Results = dict[str, Tensor]


def along(x_C: Tensor, x_BCS: Tensor) -> Tensor:
    return x_C.view(1, -1, *[1] * (x_BCS.dim() - 2))


def dims(x_BCS: Tensor) -> list[int]:
    return [d for d in range(x_BCS.dim()) if d != 1]


def stats(x_BCS: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    variance_C, mean_C = torch.var_mean(x_BCS.float(), dims(x_BCS), correction=0)
    return mean_C, (variance_C + eps).rsqrt()


def gather_stats(
    x_BCS: Tensor,
    mean_GC: Tensor,
    scale_GC: Tensor,
    running_mean_C: Tensor | None,
    running_variance_C: Tensor | None,
    momentum: float,
    eps: float,
    count_G: Tensor,
) -> tuple[Tensor, Tensor]:
    assert mean_GC.is_contiguous()
    assert scale_GC.is_contiguous()
    weight_G1 = (count_G / count_G.sum()).unsqueeze(1)
    mean_C = (weight_G1 * mean_GC).sum(0)
    variance_C = (weight_G1 * (scale_GC**-2 - eps + (mean_GC - mean_C) ** 2)).sum(0)
    if running_mean_C is not None and running_variance_C is not None:
        count = float(count_G.sum())
        running_mean_C.lerp_(mean_C, momentum)
        running_variance_C.lerp_(variance_C * count / (count - 1), momentum)
    return mean_C, (variance_C + eps).rsqrt()


def elemt(
    x_BCS: Tensor, weight_C: Tensor | None, bias_C: Tensor | None, mean_C: Tensor, scale_C: Tensor, eps: float
) -> Tensor:
    y_BCS = (x_BCS.float() - along(mean_C, x_BCS)) * along(scale_C, x_BCS)
    y_BCS = y_BCS if weight_C is None else y_BCS * along(weight_C, x_BCS)
    return (y_BCS if bias_C is None else y_BCS + along(bias_C, x_BCS)).to(x_BCS.dtype)


def backward_reduce(
    dy_BCS: Tensor, x_BCS: Tensor, mean_C: Tensor, scale_C: Tensor, weight_C: Tensor | None, *needs: bool
) -> tuple[Tensor, ...]:
    assert needs[0]
    centered_BCS = x_BCS.float() - along(mean_C, x_BCS)
    sum_dy_C, sum_dy_x_C = dy_BCS.float().sum(dims(x_BCS)), (dy_BCS.float() * centered_BCS).sum(dims(x_BCS))
    return sum_dy_C, sum_dy_x_C, sum_dy_x_C * scale_C, sum_dy_C.clone()


def backward_elemt(
    dy_BCS: Tensor,
    x_BCS: Tensor,
    mean_C: Tensor,
    scale_C: Tensor,
    weight_C: Tensor | None,
    sum_dy_C: Tensor,
    sum_dy_x_C: Tensor,
    count_G: Tensor,
) -> Tensor:
    assert count_G.dtype == torch.int32
    count = int(count_G.sum())
    centered_BCS = x_BCS.float() - along(mean_C, x_BCS)
    factor_C = scale_C if weight_C is None else scale_C * weight_C
    inner_BCS = dy_BCS - along(sum_dy_C / count, x_BCS)
    inner_BCS = inner_BCS - centered_BCS * along(scale_C**2 * sum_dy_x_C / count, x_BCS)
    return (inner_BCS * along(factor_C, x_BCS)).to(x_BCS.dtype)


KERNELS = {
    "batch_norm_stats": stats,
    "batch_norm_gather_stats_with_counts": gather_stats,
    "batch_norm_elemt": elemt,
    "batch_norm_backward_reduce": backward_reduce,
    "batch_norm_backward_elemt": backward_elemt,
}


@contextmanager
def kernels_on_the_cpu() -> Iterator[None]:
    with (
        mock.patch.multiple(torch, **KERNELS),
        mock.patch.object(group_batch_norm, "has_fused_kernels", return_value=True),
    ):
        yield


def pass_through(x_BCHW: Tensor, weight_BCHW: Tensor, affine: bool, momentum: float | None) -> Results:
    net = nn.Sequential(nn.BatchNorm2d(5, affine=affine, momentum=momentum))
    set_up_batch_norm(net, BatchNorm(group=2), timed=lambda gather: gather)
    x_BCHW = x_BCHW.clone().requires_grad_()
    for _ in range(2):
        y_BCHW = net(x_BCHW)
        (y_BCHW * weight_BCHW).mean().backward()  # type: ignore[no-untyped-call]
    assert x_BCHW.grad is not None
    grads = {f"grad {name}": p.grad for name, p in net.named_parameters() if p.grad is not None}
    found = {"y": y_BCHW, "dx": x_BCHW.grad, **grads, **dict(net.named_buffers()), "eval": net.eval()(x_BCHW)}
    return {name: tensor.detach().clone() for name, tensor in found.items()}


def both_ways(affine: bool, momentum: float | None, layout: torch.memory_format) -> tuple[Results, Results]:
    generator = torch.Generator().manual_seed(dist.get_rank())
    x_BCHW = 3 + (1 + dist.get_rank()) * torch.randn(SHARE, 5, 4, 3, generator=generator)
    weight_BCHW = torch.randn(x_BCHW.shape, generator=generator)
    x_BCHW = x_BCHW.to(memory_format=layout)
    plain = pass_through(x_BCHW, weight_BCHW, affine, momentum)
    with kernels_on_the_cpu():
        return plain, pass_through(x_BCHW, weight_BCHW, affine, momentum)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("affine", "momentum", "layout"),
    [
        (True, 0.1, torch.contiguous_format),
        (True, 0.1, torch.channels_last),
        (False, None, torch.contiguous_format),
    ],
)
def test_the_fused_kernels_equal_the_plain_ones(
    affine: bool, momentum: float | None, layout: torch.memory_format
) -> None:
    for plain, fused in on_ranks(WORLD, partial(both_ways, affine, momentum, layout)):
        assert plain.keys() == fused.keys()
        for name, expected in plain.items():
            torch.testing.assert_close(fused[name], expected, rtol=1e-5, atol=1e-6, msg=f"{name} differs")


def test_only_a_gpu_has_the_kernels() -> None:
    assert group_batch_norm.has_fused_kernels("cuda")
    assert not group_batch_norm.has_fused_kernels("cpu")
    with pytest.raises(NotImplementedError):
        torch.batch_norm_stats(torch.ones(2, 3), 1e-5)
