"""The problems and methods of the benchmark, and the specs of their runs."""

from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
TUNING_SEED, SEEDS = 0, (1, 2, 3)
GLYPHS: Spec = {"kind": "glyphs", "classes": 26, "train_samples": 4096, "heldout_samples": 2000}
RESIDUAL: Spec = {"kind": "import", "function": "benchmarks.kfac.residual_net:residual_net"}
DECAY: Spec = {"kind": "polynomial", "power": 2.0, "warmup_epochs": 1.0}
KFAC: Spec = {"kind": "kfac", "factor_every": 1, "inverse_every": 4, "damping": 0.003, "kl_clip": 0.01}
MOMENTUM: Spec = {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005}


@dataclass(frozen=True)
class Problem:
    """A net, data, a batch and a number of epochs."""

    base: Spec
    epochs: int
    what: str


@dataclass(frozen=True)
class Method:
    """An optimizer, perhaps with K-FAC before it, and what its tuning tries: as much for each method."""

    optimizer: Spec
    rates: tuple[float, ...]
    others: tuple[Spec, ...]  # changes of the method's spec, tried at the best rate
    preconditioner: Spec | None = None


@dataclass(frozen=True)
class Trial:
    """A rate, and which of the method's other choices; None: as it is."""

    rate: float
    other: int | None = None


PROBLEMS = {
    "glyphs, 64 steps": Problem(
        {"model": {"kind": "convnet", "width": 8}, "data": GLYPHS, "batch": 256},
        4,
        "4,096 glyphs of 26 classes, batch 256, a convolutional net of 8 channels",
    ),
    "glyphs": Problem(
        {"model": {"kind": "convnet", "width": 8}, "data": GLYPHS, "batch": 256},
        12,
        "the same with three times the epochs",
    ),
    "digits": Problem(
        {"model": {"kind": "convnet", "width": 16}, "data": {"kind": "digits"}, "batch": 256},
        20,
        "1,437 digits, batch 256, a convolutional net of 16 channels",
    ),
    "residual net": Problem(
        {"model": RESIDUAL, "data": GLYPHS, "batch": 256},
        8,
        "4,096 glyphs, batch 256, a residual net of 14 layers",
    ),
}
WARMUPS: tuple[Spec, ...] = tuple({"schedule": {**DECAY, "warmup_epochs": epochs}} for epochs in (0.0, 2.0))
DAMPINGS: tuple[Spec, ...] = tuple({"preconditioner": {**KFAC, "damping": damping}} for damping in (0.0003, 0.03))
METHODS = {
    "sgd": Method(MOMENTUM, (0.8, 1.6, 3.2, 6.4, 12.8), WARMUPS),
    "lars": Method({"kind": "lars", "weight_decay": 0.0005}, (32.0, 64.0, 128.0, 256.0, 512.0), WARMUPS),
    "lamb": Method({"kind": "lamb", "weight_decay": 0.01}, (0.08, 0.16, 0.32, 0.64, 1.28), WARMUPS),
    "kfac": Method(MOMENTUM, (0.025, 0.05, 0.1, 0.2, 0.4), DAMPINGS, KFAC),
}


def spec_of(problem: str, method: str, trial: Trial, seed: int) -> Spec:
    """Return the spec of one run."""
    chosen, how = PROBLEMS[problem], METHODS[method]
    spec: Spec = {
        **chosen.base,
        "epochs": chosen.epochs,
        "optimizer": how.optimizer,
        "preconditioner": how.preconditioner,
        "schedule": DECAY,
        "seed": seed,
    }
    spec |= {} if trial.other is None else how.others[trial.other]
    return spec | {"schedule": {**spec["schedule"], "rate": trial.rate}}
