"""What a checkpoint can hold: the types that `torch.load(weights_only=True)` of torch 2.13 reads back as they were.

Types count exactly. For Python a numpy.float64 is a float, and a named tuple is a tuple, but neither can be read back.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

Place = tuple[Any, ...]  # the keys and indices that lead from a state to a value in it
TENSORS = (Tensor, Parameter)
ITEMS = (list, tuple, set)
MAPPINGS = (dict, OrderedDict, Counter)
VALUES = (bool, int, float, complex, str, bytes, bytearray, type(None))
OF_TORCH = (torch.Size, torch.dtype, torch.device, torch.layout, torch.qscheme)
PLAIN = "numbers, texts, tensors, and lists and dictionaries of them"


class NotStorable(TypeError):
    """A state holds a value that no checkpoint can hold; the message says where, and what to use."""


def check_storable(state: Any, parameters: Sequence[str] = ()) -> None:
    """Raise NotStorable at the first value of a state that a checkpoint cannot hold.

    parameters: the names of the optimizer's parameters, by the numbers that its state dict gives them.
    """
    for place, problem in _problems(state, (), set()):
        raise NotStorable(f"{_describe_place(place, parameters)} {problem}")


def _problems(value: Any, place: Place, seen: set[int]) -> Iterator[tuple[Place, str]]:
    kind = type(value)
    if kind in TENSORS or (isinstance(value, Parameter) and type(value.detach()) is Tensor):  # what is stored
        if problem := _problem_of_tensor(value):
            yield place, problem
    elif kind in MAPPINGS or kind in ITEMS:
        if id(value) not in seen:  # a list may contain itself
            seen.add(id(value))
            yield from _problems_inside(value, place, seen)
    elif kind not in VALUES and kind not in OF_TORCH:
        yield place, f"of type {_name(kind)}, which a checkpoint cannot hold: {_advice(value)}"


def _problems_inside(value: Any, place: Place, seen: set[int]) -> Iterator[tuple[Place, str]]:
    keys = value if isinstance(value, dict | set) else ()
    for key in keys:
        if isinstance(key, Tensor):
            yield place, "with a tensor as a key, which a resumed run could not find again: use a number or a text"
        else:
            yield from _problems(key, (*place, key), seen)
    if not isinstance(value, set):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _problems(inner, (*place, key), seen)


def _problem_of_tensor(x: Tensor) -> str | None:
    if x.is_meta:
        return "as a tensor on the device meta, which has no values: use a tensor with values"
    return (
        "as a tensor in the layout of mkldnn, which a checkpoint cannot hold: use to_dense()" if x.is_mkldnn else None
    )


def _describe_place(place: Place, parameters: Sequence[str]) -> str:
    """Return the beginning of a sentence about a value, for example: the optimizer's group 0 has `decay`."""
    match place[place.index("optimizer") + 1 if "optimizer" in place else 0 :]:
        case ("param_groups", number, key, *inside):
            return f"the optimizer's group {number} has `{_join(key, inside)}`"
        case ("state", number, key, *inside) if isinstance(number, int) and number < len(parameters):
            return f"the optimizer's state of {parameters[number]} has `{_join(key, inside)}`"
        case (first, *inside):
            owner = "the optimizer's state dict" if "optimizer" in place else "the state of the run"
            return f"{owner} has `{_join(first, inside)}`"
        case _:
            return "the state is a value"


def _join(first: Any, inside: Sequence[Any]) -> str:
    return str(first) + "".join(f"[{key!r}]" for key in inside)


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _advice(value: Any) -> str:
    """Return what to use in place of a value."""
    if isinstance(value, Tensor):
        return "use a plain tensor, such as its as_subclass(torch.Tensor)"
    if isinstance(value, np.ndarray):
        return "use torch.from_numpy(...)"
    if isinstance(value, Enum):
        return "use its value"
    if isinstance(value, np.generic) and type(value.item()) in VALUES:
        return f"use {type(value.item()).__name__}(...)"
    if isinstance(value, frozenset):
        return "use set(...)"
    plain = (*MAPPINGS, *ITEMS, *VALUES[:-1])
    base = next((base for base in type(value).__mro__ if base in plain), None)
    if base is None and isinstance(value, Sequence):
        base = list
    return f"use {base.__name__}(...)" if base else f"use {PLAIN}"
