"""A small experiment, to be varied by tests."""

from collections.abc import Callable

from contract.spec.experiment import ExperimentSpec

Experiment = Callable[..., ExperimentSpec]


def small_experiment(axes: dict[str, list[object]] | None = None, **base: object) -> ExperimentSpec:
    """Make an experiment on two local ranks; keyword arguments replace fields of its base."""
    small = {
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 64,
        "epochs": 2,
        "resources": {"kind": "local", "ranks_per_node": 2},
    }
    return ExperimentSpec.model_validate({"name": "test", "base": {**small, **base}, "axes": axes or {}})
