"""A small experiment, to be varied by tests."""

from collections.abc import Callable
from dataclasses import replace

from contract.spec.expanded import Expanded, read_experiment

Experiment = Callable[..., Expanded]


def small_experiment(axes: dict[str, list[object]] | None = None, **base: object) -> Expanded:
    """Make an experiment on two local ranks; keyword arguments replace fields of its base."""
    small = {
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 64,
        "epochs": 2,
        "resources": {"kind": "local", "ranks_per_node": 2},
    }
    return read_experiment({"name": "test", "base": {**small, **base}, "axes": axes or {}})


def changed(experiment: Expanded, **fields: object) -> Expanded:
    """Return the experiment with other fields of its spec, and the same points."""
    return replace(experiment, spec=experiment.spec.model_copy(update=fields))
