"""The values that are equal on all replicas after a step, by the words that name them in a message.

They are the weights, whether each is trained, the buffers, the optimizer's state, and what else a step changes alike on
all ranks. Normalization's statistics are left out, because every rank has its own samples, and so are buffers that are
no state: `persistent=False`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from trainers.models.persistent_buffers import persistent_buffers
from trainers.models.statistics import statistics
from trainers.replicas.digest import digest

BUFFER = "the buffer"
PLAIN = bool, int, float, complex, str, bytes, type(None), np.generic
MAX_SHOWN = 80  # characters of a number or text in a message
BITS_64 = 2**64 - 1


class Value(NamedTuple):
    """A value as a message shows it, and the digest of a tensor's elements."""

    shown: str
    digest: str = ""


Values = dict[str, Value]


def values_of_replica(
    model: nn.Module, optimizer: Optimizer, *, average: nn.Module | None = None, others: Mapping[str, Any] | None = None
) -> Values:
    """Return the values of a replica. On a GPU the host waits for it once, at the end.

    `average`: the averaged net, if there is one. `others`: states by the names of what they belong to.
    """
    named = [*_of_net(model), *_of_optimizer(optimizer, model)]
    if average is not None:
        named += [(f"{name} of the average", value) for name, value in _of_net(average)]
    named += [(f"{owner}'s", state) for owner, state in (others or {}).items()]
    return describe(named)


def describe(named: Iterable[tuple[str, Any]]) -> Values:
    """Return tensors, numbers and texts, also inside lists and dictionaries, as values by their names."""
    values: Values = {}
    by_device: dict[torch.device, list[tuple[str, Tensor]]] = defaultdict(list)
    for name, whole in named:
        for path, value in _leaves(name, whole):
            if isinstance(value, Tensor):
                values[path] = Value(f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}")
                by_device[value.device].append((path, digest(value)))
            else:
                values[path] = _of_object(value)
    for digests in by_device.values():
        numbers = torch.stack([number for _, number in digests]).tolist()
        for (path, _), number in zip(digests, numbers, strict=True):
            values[path] = values[path]._replace(digest=f"{number & BITS_64:016x}")
    return values


def _of_net(net: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, p in net.named_parameters():
        yield f"the weights `{name}`", p
        yield f"requires_grad of the weights `{name}`", p.requires_grad
    own = statistics(net)
    yield from ((f"{BUFFER} `{name}`", it) for name, it in persistent_buffers(net).items() if name not in own)


def _of_optimizer(optimizer: Optimizer, model: nn.Module) -> Iterator[tuple[str, Any]]:
    names = {p: name for name, p in model.named_parameters()}
    # the state dict has the numbers of the parameters in this order
    owners = [names.get(p, "?") for group in optimizer.param_groups for p in group["params"]]
    whole = dict(optimizer.state_dict())
    for number, state in sorted(whole.pop("state", {}).items(), key=lambda item: str(item[0])):
        owner = owners[number] if isinstance(number, int) and number < len(owners) else number
        for key, value in state.items() if isinstance(state, Mapping) else [("state", state)]:
            yield f"the optimizer's `{key}` of `{owner}`", value
    for number, group in enumerate(whole.pop("param_groups", [])):
        for key, value in group.items():
            yield f"`{key}` of the optimizer's group {number}", value
    yield from ((f"the optimizer's `{key}`", value) for key, value in whole.items())


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{name} {key}", inner)
    elif isinstance(value, list | tuple) and not all(isinstance(inner, PLAIN) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(f"{name} {number}", inner)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        yield name, torch.from_numpy(np.ascontiguousarray(value))
    else:
        yield name, value


def _of_object(value: Any) -> Value:
    if not isinstance(value, (*PLAIN, list, tuple)):
        return Value(f"a {type(value).__name__}")  # what such an object has inside is not known
    text = repr(value)
    if len(text) <= MAX_SHOWN:
        return Value(text)
    return Value(f"{text[:MAX_SHOWN]}...", sha256(text.encode()).hexdigest()[:16])
