"""Diagnose a loss that is not finite: find the first layer whose output is not finite, and the largest layers."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainers.checkpoints.finite import first_not_finite
from trainers.collectives.json_exchange import gather_json
from trainers.data.split import DeviceBatch
from trainers.training.precision import Precision

Pass = tuple[Tensor, DeviceBatch]  # the numbers of its samples in the data set, and the batch

LARGEST = 3  # number of layers in the diagnosis


@torch.no_grad()
def diagnose(model: nn.Module, passes: Iterable[Pass], *, precision: Precision, together: bool = True) -> str:
    """Repeat the passes of the failed step in its precision, and describe the cause.

    `together`: all ranks do, and share the result.
    """
    found = [_find_in_data(*of_pass) or _find_in_layers(model, of_pass[1][0], precision) for of_pass in passes]
    own = next((layer for layer in found if layer), None)
    of_rank = {dist.get_rank(): own} if not together else dict(enumerate(gather_json(own)))
    first = next((f"{layer} on rank {rank}" for rank, layer in of_rank.items() if layer), "the loss")
    return f"the first that is not finite is {first}; {_sizes(model)}"


def _find_in_data(numbers_B: Tensor, batch: DeviceBatch) -> str | None:
    """Return the first sample of a batch whose input or target is not finite, in words, or None."""
    inputs, target = batch
    for what, part in [*(("input", part) for part in inputs), ("target", target)]:
        if (index := first_not_finite(part)) is not None:
            return f"the {what} itself, of sample {int(numbers_B[index])} of the training set,"
    return None


def _find_in_layers(model: nn.Module, inputs: tuple[Tensor, ...], precision: Precision) -> str | None:
    # a compiled net would not call the hooks of its layers
    with _record_not_finite(model) as not_finite, precision.passes(), torch.compiler.set_stance("force_eager"):
        model(*inputs)
    return not_finite[0] if not_finite else None


@contextmanager
def _record_not_finite(model: nn.Module) -> Iterator[list[str]]:
    """Yield a list to which the layers whose output is not finite are appended, in the order of the pass."""
    not_finite: list[str] = []

    def check(name: str, layer: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and not bool(output.isfinite().all()):
            not_finite.append(f"{name} ({type(layer).__name__})")

    layers = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(partial(check, name)) for name, layer in layers]
    try:
        yield not_finite
    finally:
        for hook in hooks:
            hook.remove()


def _sizes(model: nn.Module) -> str:
    """Describe the weights w and gradients g of the largest layers by their norms; a norm of nan sorts first."""
    norms = [(name, _norm(p), _norm(p.grad)) for name, p in model.named_parameters()]
    norms.sort(key=lambda of_layer: of_layer[1] if math.isfinite(of_layer[1]) else math.inf, reverse=True)
    largest = ", ".join(f"{name} |w| = {w:.3g} |g| = {g:.3g}" for name, w, g in norms[:LARGEST])
    return f"the largest layers: {largest}"


def _norm(x_N: Tensor | None) -> float:
    # float64, because squares of numbers above 1e19 exceed float32's range
    return math.nan if x_N is None else x_N.double().norm().item()
