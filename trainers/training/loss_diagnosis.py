"""Why a loss is no number: which layer was the first to say something that is none, and how large the layers are."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainers.data.split import Placed

LARGEST = 3  # layers that are told


@torch.no_grad()
def diagnose(model: nn.Module, passes: Iterable[Placed], *, together: bool = True) -> str:
    """Go once more through the passes of the step that failed; `together`: every rank does, and tells the others."""
    found = [_first_in(model, inputs) for inputs, _ in passes]
    own = next((layer for layer in found if layer), None)
    of_rank = {dist.get_rank(): own} if not together else dict(enumerate(_told_by_all(own)))
    told = next((f"{layer} on rank {rank}" for rank, layer in of_rank.items() if layer), "the loss")
    return f"the first that is not finite is {told}; {_sizes(model)}"


def _told_by_all(own: str | None) -> list[str | None]:
    of_rank: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(of_rank, own)
    return of_rank


def _first_in(model: nn.Module, inputs: tuple[Tensor, ...]) -> str | None:
    if not all(bool(part.isfinite().all()) for part in inputs):
        return "the input itself"
    with _first_unsound(model) as unsound:
        model(*inputs)
    return unsound[0] if unsound else None


@contextmanager
def _first_unsound(model: nn.Module) -> Iterator[list[str]]:
    """While inside, the layers whose output is not finite go into a list, in the order of the pass."""
    unsound: list[str] = []

    def look(name: str, layer: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and not bool(output.isfinite().all()):
            unsound.append(f"{name} ({type(layer).__name__})")

    layers = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(partial(look, name)) for name, layer in layers]
    try:
        yield unsound
    finally:
        for hook in hooks:
            hook.remove()


def _sizes(model: nn.Module) -> str:
    """Norms of the weights w and gradients g of the largest layers; one that is no number is larger than any."""
    norms = [(name, _norm(p), _norm(p.grad)) for name, p in model.named_parameters()]
    norms.sort(key=lambda of_layer: of_layer[1] if math.isfinite(of_layer[1]) else math.inf, reverse=True)
    told = ", ".join(f"{name} |w| = {w:.3g} |g| = {g:.3g}" for name, w, g in norms[:LARGEST])
    return f"the largest layers: {told}"


def _norm(x_N: Tensor | None) -> float:
    # float64: the squares of numbers beyond 1e19 leave float32's range
    return math.nan if x_N is None else x_N.double().norm().item()
