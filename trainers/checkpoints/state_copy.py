"""Copy a state to the CPU, so that training can continue while a thread writes the copy."""

from typing import Any

import torch


def copy_state(state: Any) -> Any:
    """Return the same dictionaries, lists and tuples, with a copy of every tensor on the CPU."""
    if isinstance(state, torch.Tensor):
        # clone() keeps a view's strides but drops the rest of its storage
        return state.detach().clone() if state.device.type == "cpu" else state.detach().to("cpu")
    if isinstance(state, dict):
        return {name: copy_state(value) for name, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(copy_state(value) for value in state)
    return state
