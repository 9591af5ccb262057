"""Capture: sum the statistics of the layers' inputs and output gradients over the passes of a step, by hooks.

Only passes with gradients count, so neither an evaluation nor a diagnosis does. A layer counts in any mode: one in
evaluation mode trains too, if its weights have gradients. The statistics are of the gradient without the loss scale s:
a tensor's hook gets s g, and sums (s g / s)(s g / s)^T.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from trainers.preconditioners.layers import PreconditionedLayer
from trainers.rules.call_timer import CallTimer


class Capture:
    """Sums while `is_on`; `scale` returns the loss scale of the step, `terms`: see KFAC."""

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[PreconditionedLayer],
        *,
        terms: int = 1,
        scale: Callable[[], float],
        timed: CallTimer,
    ) -> None:
        self.is_on = False
        self._layers, self._terms, self._scale = layers, terms, scale
        self._add_inputs, self._add_outputs = timed(self._sum_inputs), timed(self._sum_outputs)
        self.clear()
        model.register_forward_pre_hook(self._count_samples)
        for index, layer in enumerate(layers):
            layer.module.register_forward_hook(partial(self._after_forward, index))

    def clear(self) -> None:
        """Forget the statistics."""
        self._samples = 0
        self._rows = [0] * len(self._layers)
        self._inputs: list[Tensor | None] = [None] * len(self._layers)
        self._outputs: list[Tensor | None] = [None] * len(self._layers)

    def input_factors(self) -> list[Tensor | None]:
        """Return A of every layer's blocks; None for a layer that no pass has used."""
        pairs = zip(self._inputs, self._rows, strict=True)
        return [None if sums is None else sums / rows for sums, rows in pairs]

    def output_factors(self) -> list[Tensor | None]:
        """Return G of every layer's blocks: the loss is a mean of terms, whose own gradients are larger."""
        terms = self._samples * self._terms
        return [None if sums is None else sums * terms for sums in self._outputs]

    def _count_samples(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if self._is_active:
            self._samples += len(inputs[0])

    def _after_forward(self, index: int, module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        if not self._is_active or not output.requires_grad:
            return
        self._add_inputs(index, inputs[0])
        # a hook of the tensor, not of the module: activations may change the output in place
        output.register_hook(partial(self._add_outputs, index))  # type: ignore[no-untyped-call]  # torch does not annotate it

    @property
    def _is_active(self) -> bool:
        return self.is_on and torch.is_grad_enabled()

    def _sum_inputs(self, index: int, x: Tensor) -> None:
        with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
            sums, rows = self._layers[index].input_sums(x)
        self._rows[index] += rows
        self._inputs[index] = _add(self._inputs[index], sums)

    def _sum_outputs(self, index: int, grad: Tensor) -> None:
        with torch.no_grad(), torch.autocast(grad.device.type, enabled=False):
            wide = grad.to(torch.promote_types(grad.dtype, torch.float32))
            scale = self._scale()
            sums = self._layers[index].output_sums(wide if scale == 1 else wide / scale)
        self._outputs[index] = _add(self._outputs[index], sums)


def _add(total: Tensor | None, part: Tensor) -> Tensor:
    return part if total is None else total.add_(part)
