"""torch's fused kernels, which update all weights in one pass over memory, and what they require.

For the 25 million weights of ResNet-50 on two CPU cores, fused SGD takes 0.42 of the time of the loop over tensors.
A fused kernel reads weights and gradients in the order of memory, so a gradient that lies in another order is copied
first. The fused SGD of torch 2.13 does not update 16-bit weights on a CPU (docs/log/engine.md), and it fails if only
some weights have a velocity: those that get their first gradient later than others, as an unfrozen layer, have none.
"""

from typing import Any

import torch

from trainers.optimizers.layers import check_dense


def align_gradients(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Give each gradient the strides of its weights; a hook before the step."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None and p.grad.stride() != p.stride():
                check_dense(p.grad)  # the stride of a sparse gradient is 0
                p.grad = torch.empty_like(p).copy_(p.grad)


class Velocities:
    """Gives weights without a velocity one of 0 if others have one, before each step of SGD with momentum.

    Once all weights have one, which is so after the first step of most runs, it looks again after a resume alone.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._are_complete = False
        optimizer.register_step_pre_hook(self._start)
        optimizer.register_load_state_dict_post_hook(self._look_again)

    def _start(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._are_complete:
            complete = [self._start_group(optimizer, group["params"]) for group in optimizer.param_groups]
            self._are_complete = all(complete)

    def _start_group(self, optimizer: torch.optim.Optimizer, params: list[torch.Tensor]) -> bool:
        """Return whether all weights of a group have a velocity now."""
        missing = [p for p in params if optimizer.state.get(p, {}).get("momentum_buffer") is None]
        trained = [p for p in params if p.grad is not None]
        new = [p for p in missing if p.grad is not None]
        if len(new) == len(trained):
            return not missing
        for p in new:
            optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p)
        return len(new) == len(missing)

    def _look_again(self, _: torch.optim.Optimizer) -> None:
        self._are_complete = False


def make_sgd(
    groups: list[dict[str, Any]], *, momentum: float, weight_decay: float, nesterov: bool
) -> torch.optim.Optimizer:
    """Return torch's SGD, fused if all weights allow it; the rate starts at 0."""
    fusible = all(_is_fusible(p) for group in groups for p in group["params"])
    optimizer = torch.optim.SGD(
        groups, lr=0.0, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov, fused=fusible or None
    )
    if fusible:
        optimizer.register_step_pre_hook(align_gradients)
        if momentum:
            Velocities(optimizer)
    return optimizer


def _is_fusible(p: torch.Tensor) -> bool:
    is_dense = p.is_contiguous() or p.is_contiguous(memory_format=torch.channels_last)
    return is_dense and p.dtype in (torch.float32, torch.float64) and p.device.type in ("cpu", "cuda")
