"""Copy a state to the CPU, so that training can continue while a thread writes the copy."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from torch import Tensor


def copy_state(state: Any) -> Any:
    """Return the same containers, of the same types, with a copy of every tensor on the CPU.

    What stands in several places, such as a count that all parameters share, is one object in the copy too.
    """
    return deepcopy(state, {id(x): _copy(x) for x in _tensors(state, set())})


def _tensors(state: Any, seen: set[int]) -> Iterator[Tensor]:
    if id(state) in seen:
        return
    seen.add(id(state))
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, dict | list | tuple | set):
        for value in state.values() if isinstance(state, dict) else state:
            yield from _tensors(value, seen)


def _copy(x: Tensor) -> Tensor:
    # clone() keeps a view's strides but drops the rest of its storage
    return x.detach().clone() if x.device.type == "cpu" else x.detach().to("cpu")
