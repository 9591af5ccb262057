"""The parameters of a run, as `bigbatch.config`: read by name or as attributes, and never changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bigbatch.running.environment import RunEnvironment


class Parameters(Mapping[str, Any]):
    """Parameters by name: `config["lr"]`, `config.lr`, `config.get("lr", 0.1)`; nested ones are Parameters too."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = {name: Parameters(v) if isinstance(v, Mapping) else v for name, v in values.items()}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_values":  # of the copy and pickle protocols
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"the run has no parameter '{name}'; its parameters are: {self._listed()}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Parameters({self.to_dict()!r})"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as a dictionary, nested ones too."""
        return {name: v.to_dict() if isinstance(v, Parameters) else v for name, v in self._values.items()}

    def _listed(self) -> str:
        return ", ".join(self._values) or "none"


def read_parameters(environment: RunEnvironment) -> Parameters:
    """Return the run's parameters, none outside a run; raise OSError or ValueError for a damaged file."""
    if environment.parameters is None:
        return Parameters({})
    try:
        with open(environment.parameters, encoding="utf-8") as file:
            values = json.load(file)
    except FileNotFoundError:
        return Parameters({})
    if not isinstance(values, dict):
        raise ValueError(f"{environment.parameters} has no object of parameters")
    return Parameters(values)
