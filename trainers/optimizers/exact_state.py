"""Restore an optimizer's state with the types that it was saved with.

`Optimizer.load_state_dict` of torch 2.13 gives every tensor of a parameter's state the type of the parameter: a float32
momentum of a bfloat16 weight becomes bfloat16, a count becomes a floating-point number. A text in the state becomes the
text of an iterator. So a resumed run would differ from an uninterrupted one. The hooks below see what torch is given,
also where a user's optimizer overrides `load_state_dict` and calls torch's with a part of its state.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor
from torch.optim import Optimizer


class ExactState:
    """Restores the types of one optimizer's state after each `load_state_dict`; refuses a state of other groups."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._saved: Mapping[str, Any] = {}
        self._groups: list[dict[str, Any]] = []  # as they were before
        optimizer.register_load_state_dict_pre_hook(self._note)
        optimizer.register_load_state_dict_post_hook(self._restore)

    def _note(self, optimizer: Optimizer, saved: dict[str, Any]) -> None:
        was, now = _sizes(saved["param_groups"]), _sizes(optimizer.param_groups)
        if was != now:
            raise ValueError(
                f"the checkpoint's optimizer has groups of {was} parameters, and this run's has groups of {now}: the "
                "net or no_weight_decay differs from that of the run that wrote the checkpoint"
            )
        self._saved, self._groups = saved, [dict(group) for group in optimizer.param_groups]

    def _restore(self, optimizer: Optimizer) -> None:
        same: dict[int, Tensor] = {}
        for number, p in self._numbered(optimizer):
            if number in self._saved["state"]:
                optimizer.state[p] = _restored(self._saved["state"][number], optimizer.state[p], same)
        for before, group in zip(self._groups, optimizer.param_groups, strict=True):
            for key, value in group.items():
                if isinstance(value, Tensor) and isinstance(was := before.get(key), Tensor):
                    group[key] = value.to(was.device)  # a checkpoint is read onto the CPU
        self._saved, self._groups = {}, []

    def _numbered(self, optimizer: Optimizer) -> Iterator[tuple[int, Tensor]]:
        for saved, group in zip(self._saved["param_groups"], optimizer.param_groups, strict=True):
            yield from zip(saved["params"], group["params"], strict=True)


def _sizes(groups: list[dict[str, Any]]) -> str:
    return " and ".join(str(len(group["params"])) for group in groups)


def _restored(saved: Any, loaded: Any, same: dict[int, Tensor]) -> Any:
    """Return what torch has loaded, on the device where torch has put it, with the types of what was saved.

    What differs otherwise, such as a value that the optimizer's own `__setstate__` has converted, stays as loaded.
    """
    if isinstance(saved, Tensor) and isinstance(loaded, Tensor):
        right = loaded if loaded.dtype == saved.dtype else saved.to(loaded.device)
        return same.setdefault(id(saved), right)  # a tensor that several parameters share is one tensor again
    if isinstance(saved, dict) and isinstance(loaded, dict):
        restored = saved.copy()  # with its type and order
        restored.clear()
        restored.update({key: _restored(saved.get(key), value, same) for key, value in loaded.items()})
        return restored
    if isinstance(saved, list | tuple) and type(saved) is type(loaded) and len(saved) == len(loaded):
        return type(saved)([_restored(*pair, same) for pair in zip(saved, loaded, strict=True)])
    return saved if isinstance(saved, str | set) and type(saved) is type(loaded) else loaded
