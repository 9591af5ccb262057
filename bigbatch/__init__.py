"""Bigbatch for users: the typed Python client, and what a training script calls inside a run.

Every name is loaded at its first use, so that a training script needs the standard library alone, from Python 3.9 on.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from bigbatch import wandb as wandb
    from bigbatch.client import Client as Client
    from bigbatch.errors import ApiError as ApiError
    from bigbatch.errors import BigbatchError as BigbatchError
    from bigbatch.errors import DocumentRefused as DocumentRefused
    from bigbatch.errors import Unreachable as Unreachable
    from bigbatch.running.calls import finish as finish
    from bigbatch.running.calls import log as log
    from bigbatch.running.calls import should_pause as should_pause
    from bigbatch.running.parameters import Parameters

    config: Parameters
    checkpoint_folder: Path
    resuming: bool

_MODULES = {
    "Client": "bigbatch.client",
    "ApiError": "bigbatch.errors",
    "BigbatchError": "bigbatch.errors",
    "DocumentRefused": "bigbatch.errors",
    "Unreachable": "bigbatch.errors",
    "finish": "bigbatch.running.calls",
    "log": "bigbatch.running.calls",
    "should_pause": "bigbatch.running.calls",
}
# computed once, at the first use
_VALUES = {"config": "read_config", "checkpoint_folder": "make_checkpoint_folder", "resuming": "is_resuming"}

__all__ = [
    "ApiError",
    "BigbatchError",
    "Client",
    "DocumentRefused",
    "Unreachable",
    "checkpoint_folder",
    "config",
    "finish",
    "log",
    "resuming",
    "should_pause",
    "wandb",
]


def __getattr__(name: str) -> Any:
    """Load a name at its first use."""
    if name in _MODULES:
        value = getattr(_load(name), name)
    elif name in _VALUES:
        value = getattr(importlib.import_module("bigbatch.running.values"), _VALUES[name])()
    elif name == "wandb":
        value = importlib.import_module("bigbatch.wandb")
    else:
        raise AttributeError(f"module 'bigbatch' has no attribute '{name}'")
    globals()[name] = value
    return value


def _load(name: str) -> Any:
    module = _MODULES[name]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("bigbatch.running"):
            raise
        message = f"bigbatch.{name} needs the whole package ({error}): install bigbatch in this environment"
        raise ImportError(message) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
