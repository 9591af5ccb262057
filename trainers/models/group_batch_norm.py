"""Batch normalization over the common batch of a group of ranks (Ying et al., 2018: distributed batch normalization).

mu = 1/m sum x,  s2 = 1/m sum (x - mu)^2,  xh = (x - mu) / sqrt(s2 + eps),  y = gamma xh + beta
dx = gamma / sqrt(s2 + eps) (dy - 1/m sum dy - xh 1/m sum dy xh)

with all sums over the m numbers of a channel on all G ranks of the group, as one process would compute them on the
common batch. In the forward pass the ranks exchange mean and variance and combine them as mu = mean_r(mu_r) and
s2 = mean_r(s2_r + (mu_r - mu)^2), which avoids cancellation (Chan, Golub & LeVeque, 1979). In the backward pass they
exchange the two sums.

On GPUs the kernels of torch.nn.SyncBatchNorm compute all this in few passes over memory (has_fused_kernels). Its module
is not used: it removes ranks with empty batches, which are none here, by a mask that makes the host wait for the GPU
three times per layer.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

Gather = Callable[[Tensor], Tensor]  # x_C of this rank -> x_GC of all ranks of the group


def join(model: nn.Module, gather: Gather) -> None:
    """Replace every batch normalization of `model` by one over the group; parameters and their names stay."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, _BatchNorm):
                setattr(parent, name, GroupBatchNorm(child, gather))


class GroupBatchNorm(_BatchNorm):
    """Replace `norm`; every rank of the group must have equally many numbers per channel."""

    def __init__(self, norm: _BatchNorm, gather: Gather) -> None:
        super().__init__(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
        self._parameters, self._buffers = norm._parameters, norm._buffers
        self._non_persistent_buffers_set = norm._non_persistent_buffers_set
        self.training, self._gather = norm.training, gather

    def _check_input_dim(self, x_BCS: Tensor) -> None:
        """Accept any number of dimensions."""

    def forward(self, x_BCS: Tensor) -> Tensor:
        """Normalize the channels of x_BC, x_BCL, x_BCHW or x_BCDHW (S: all dimensions after C)."""
        if not self.training:
            return super().forward(x_BCS)
        if has_fused_kernels(x_BCS.device.type):
            return self._forward_fused(x_BCS)
        normalized = _Normalize.apply(x_BCS, self.weight, self.bias, self.eps, self._gather)  # type: ignore[no-untyped-call]
        y_BCS: Tensor = normalized[0]
        mean_C, variance_C, count = normalized[1:]
        if self.running_mean is not None and self.running_var is not None:
            momentum = self._count_batch()
            self.running_mean.lerp_(mean_C, momentum)
            self.running_var.lerp_(variance_C * (count / (count - 1)), momentum)  # unbiased, as in torch
        return y_BCS

    def _forward_fused(self, x_BCS: Tensor) -> Tensor:
        has_running = self.running_mean is not None
        momentum = self._count_batch() if has_running else 0.0
        running = self.running_mean, self.running_var, momentum
        y_BCS: Tensor = FusedNormalize.apply(x_BCS, self.weight, self.bias, running, self.eps, self._gather)  # type: ignore[no-untyped-call]
        return y_BCS

    def _count_batch(self) -> float:
        """Count a batch, and return its weight in the running statistics."""
        assert self.num_batches_tracked is not None
        self.num_batches_tracked += 1
        return 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum


def has_fused_kernels(device_type: str) -> bool:
    """Return whether torch has SyncBatchNorm's kernels for this type of device."""
    return device_type == "cuda"


class FusedNormalize(torch.autograd.Function):
    """The function by SyncBatchNorm's kernels; `running`: the running mean and variance, and the batch's weight."""

    @staticmethod
    def forward(
        ctx: Any,
        x_BCS: Tensor,
        weight_C: Tensor | None,
        bias_C: Tensor | None,
        running: tuple[Tensor | None, Tensor | None, float],
        eps: float,
        gather: Gather,
    ) -> Tensor:
        """Return the normalized x_BCS, and update the running statistics."""
        x_BCS = _dense(x_BCS)
        mean_C, scale_C = torch.batch_norm_stats(x_BCS, eps)
        mean_GC, scale_GC = gather(torch.cat([mean_C, scale_C])).chunk(2, dim=1)
        # every rank of the group has equally many numbers per channel
        count_G = mean_C.new_full((len(mean_GC),), x_BCS.numel() // x_BCS.shape[1])
        mean_C, scale_C = torch.batch_norm_gather_stats_with_counts(
            x_BCS, mean_GC.contiguous(), scale_GC.contiguous(), *running, eps, count_G
        )
        ctx.save_for_backward(x_BCS, weight_C, mean_C, scale_C, count_G.to(torch.int32))
        ctx.gather = gather
        y_BCS: Tensor = torch.batch_norm_elemt(x_BCS, weight_C, bias_C, mean_C, scale_C, eps)
        return y_BCS

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_BCS: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, weight and bias; those of the parameters are this rank's."""
        x_BCS, weight_C, mean_C, scale_C, count_G = ctx.saved_tensors
        dy_BCS = _dense(dy_BCS)
        of_x, of_weight, of_bias = ctx.needs_input_grad[:3]
        sum_dy_C, sum_dy_x_C, dweight_C, dbias_C = torch.batch_norm_backward_reduce(
            dy_BCS, x_BCS, mean_C, scale_C, weight_C, of_x, of_weight, of_bias
        )
        dx_BCS = None
        if of_x:
            sum_dy_C, sum_dy_x_C = ctx.gather(torch.cat([sum_dy_C, sum_dy_x_C])).sum(0).chunk(2)
            wide_C = None if weight_C is None else weight_C.to(mean_C.dtype)
            dx_BCS = torch.batch_norm_backward_elemt(
                dy_BCS, x_BCS, mean_C, scale_C, wide_C, sum_dy_C.contiguous(), sum_dy_x_C.contiguous(), count_G
            )
        return dx_BCS, dweight_C if of_weight else None, dbias_C if of_bias else None, None, None, None


def _dense(x_BCS: Tensor) -> Tensor:
    """Return x with its channels innermost if they are, else contiguous: the kernels know these two layouts."""
    is_last = x_BCS.dim() == 4 and x_BCS.is_contiguous(memory_format=torch.channels_last)
    is_last |= x_BCS.dim() == 5 and x_BCS.is_contiguous(memory_format=torch.channels_last_3d)
    return x_BCS if is_last else x_BCS.contiguous()


class _Normalize(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_BCS: Tensor, weight_C: Tensor | None, bias_C: Tensor | None, eps: float, gather: Gather
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        wide_BCS = x_BCS.float()  # float32 statistics for 16-bit inputs
        dims = [d for d in range(x_BCS.dim()) if d != 1]
        variance_C, mean_C = torch.var_mean(wide_BCS, dims, correction=0)
        gathered_GX = gather(torch.cat([mean_C, variance_C]))
        mean_GC, variance_GC = gathered_GX.chunk(2, dim=1)
        mean_C = mean_GC.mean(0)
        variance_C = (variance_GC + (mean_GC - mean_C) ** 2).mean(0)
        scale_C = (variance_C + eps).rsqrt()
        xh_BCS = (wide_BCS - _along(mean_C, x_BCS)) * _along(scale_C, x_BCS)
        y_BCS = xh_BCS if weight_C is None else xh_BCS * _along(weight_C, x_BCS)
        y_BCS = y_BCS if bias_C is None else y_BCS + _along(bias_C, x_BCS)
        ctx.save_for_backward(x_BCS, weight_C, mean_C, scale_C)
        ctx.dims, ctx.gather = dims, gather
        count = len(gathered_GX) * (x_BCS.numel() // x_BCS.shape[1])
        ctx.mark_non_differentiable(mean_C, variance_C)
        return y_BCS.to(x_BCS.dtype), mean_C, variance_C, count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_BCS: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x_BCS, weight_C, mean_C, scale_C = ctx.saved_tensors
        wide_BCS = dy_BCS.float()
        xh_BCS = (x_BCS.float() - _along(mean_C, x_BCS)) * _along(scale_C, x_BCS)
        # The parameters' gradients are those of this rank; the all-reduce averages them.
        dbias_C, dweight_C = wide_BCS.sum(ctx.dims), (wide_BCS * xh_BCS).sum(ctx.dims)
        numbers = x_BCS.numel() // x_BCS.shape[1]
        mean_dy_C, mean_dy_xh_C = (ctx.gather(torch.cat([dbias_C, dweight_C])).mean(0) / numbers).chunk(2)
        dx_BCS = wide_BCS - _along(mean_dy_C, x_BCS) - xh_BCS * _along(mean_dy_xh_C, x_BCS)
        dx_BCS *= _along(scale_C if weight_C is None else scale_C * weight_C, x_BCS)
        no_affine = weight_C is None
        return dx_BCS.to(x_BCS.dtype), None if no_affine else dweight_C, None if no_affine else dbias_C, None, None


def _along(x_C: Tensor, x_BCS: Tensor) -> Tensor:
    """Reshape x_C so that it broadcasts over x_BCS."""
    return x_C.view(1, -1, *[1] * (x_BCS.dim() - 2))
