"""The values that a training script reads: `bigbatch.config`, `bigbatch.checkpoint_folder`, `bigbatch.resuming`."""

from __future__ import annotations

import os
from pathlib import Path

from bigbatch.running.environment import read_environment
from bigbatch.running.parameters import Parameters, read_parameters
from bigbatch.running.warning import warn_once

NAME = "checkpoints"


def read_config() -> Parameters:
    """Return the run's parameters; none outside a run."""
    return read_parameters(read_environment())


def make_checkpoint_folder() -> Path:
    """Create the run's folder of checkpoints, which every attempt has, and return it; outside a run ./checkpoints."""
    path = _checkpoint_folder()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        warn_once("checkpoints", f"{path} cannot be created ({error.strerror})")
    return path


def is_resuming() -> bool:
    """Return whether an earlier attempt left checkpoints: this is a later attempt, and the folder is not empty."""
    environment = read_environment()
    if environment.folder is None or environment.attempt == 1:
        return False
    try:
        with os.scandir(_checkpoint_folder()) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


def _checkpoint_folder() -> Path:
    folder = read_environment().folder
    return Path.cwd() / NAME if folder is None else Path(folder) / NAME
