"""A copy of a state on the CPU, so that training may go on while it is written."""

from typing import Any

import torch


def copied(state: Any) -> Any:
    """The same dictionaries, lists and tuples, with every tensor copied."""
    if isinstance(state, torch.Tensor):
        # clone() keeps a view's strides and drops the rest of the storage that it looks into
        return state.detach().clone() if state.device.type == "cpu" else state.detach().to("cpu")
    if isinstance(state, dict):
        return {name: copied(value) for name, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(copied(value) for value in state)
    return state
