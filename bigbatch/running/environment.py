"""The environment of this process inside a run, as the agent and the launcher have set it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
WORLD_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
MAX_RANKS = 1_000_000  # of one attempt


class RunEnvironment(NamedTuple):
    """Where this process runs: the run's folder, the attempt, the rank, and the number of ranks."""

    folder: str | None  # None outside a run
    attempt: int
    rank: int
    world: int
    parameters: str | None  # path of the file with the run's parameters


def read_environment(variables: Mapping[str, str] | None = None) -> RunEnvironment:
    """Return what the environment variables say; a number that cannot be read counts as absent."""
    given = os.environ if variables is None else variables
    folder = given.get("BIGBATCH_RUN_FOLDER") or None
    parameters = given.get("BIGBATCH_PARAMETERS") or (folder and os.path.join(folder, "parameters.json"))
    attempt = _number(given.get("BIGBATCH_ATTEMPT")) or 1
    rank = _first_number(given, RANK_VARIABLES)
    world = _first_number(given, WORLD_VARIABLES) or 1
    return RunEnvironment(folder, attempt, rank or 0, world, parameters or None)


def _first_number(variables: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    numbers = (_number(variables.get(name)) for name in names)
    return next((number for number in numbers if number is not None), None)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and int(text) <= MAX_RANKS else None
