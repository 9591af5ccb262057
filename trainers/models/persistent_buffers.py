"""The buffers of a net that are part of its state: those that `state_dict` has.

A buffer that a module registers with `persistent=False` is a cache. The module can compute it anew, and its shape may
change, so no checkpoint has it.
"""

from collections.abc import Mapping

from torch import Tensor, nn


def persistent_buffers(model: nn.Module, *, prefix: str = "") -> dict[str, Tensor]:
    """Return the buffers that are state by their names in `named_buffers`."""
    caches = cache_names(model, prefix=prefix)
    return {name: buffer for name, buffer in model.named_buffers(prefix=prefix) if name not in caches}


def cache_names(model: nn.Module, *, prefix: str = "") -> set[str]:
    """Return the names of the buffers that are no state, also of those that have no value yet."""
    return {
        f"{path}.{name}" if path else name
        for path, module in model.named_modules(prefix=prefix)
        for name in module._non_persistent_buffers_set
    }


def without_caches(saved: Mapping[str, Tensor], model: nn.Module, *, prefix: str = "") -> dict[str, Tensor]:
    """Return saved tensors without the model's caches, which the checkpoints of earlier versions have too."""
    caches = cache_names(model, prefix=prefix)
    return {name: tensor for name, tensor in saved.items() if name not in caches}
