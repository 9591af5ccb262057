"""The spec of a case, as a user would write it."""

from typing import Any

from pydantic import TypeAdapter

from contract.spec.choices.optimizers import Optimizer
from contract.spec.run import RunSpec
from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.nets import CLASSES, NETS, SHAPES


def spec_of(case: Case) -> RunSpec:
    """Return the spec; raise ValidationError where the spec refuses the case."""
    stages = [] if case.later_share is None else [{"epoch": 1, "batch": case.later_share * case.world}]
    chosen: dict[str, Any] = {
        "model": {"kind": "import", "function": f"{NETS}:net", "options": net_options(case)},
        "data": {
            "kind": "import",
            "function": f"{NETS}:data",
            "options": data_options(case),
            "shape": SHAPES[case.inputs],
            "classes": CLASSES,
            "train_samples": case.train_samples,
            "heldout_samples": case.heldout_samples,
        },
        "optimizer": case.optimizer,
        "schedule": _schedule(case),
        "batch": case.share * case.world,
        "batch_stages": stages,
        "rule": {"kind": "sync", "packed": case.packed, "overlap": case.overlap},
        "resources": {"kind": "local", "ranks_per_node": case.world},
        "checkpoint": {"every_minutes": None},
        "device": "cpu",
    }
    names = ("seed", "micro_batch", "epochs", "clip_norm", "ema_decay", "precision", "collective", "label_smoothing")
    chosen |= {name: getattr(case, name) for name in (*names, "channels_last")}
    if case.own_loss:
        chosen["loss"] = {"kind": "import", "function": f"{NETS}:loss", "options": {"power": 1.5}}
    return RunSpec.model_validate(chosen)


def net_options(case: Case) -> dict[str, Any]:
    """Return the arguments of the net's function."""
    of_net = {name: getattr(case, name) for name in ("inputs", "dtype", "passes", "draws")}
    return {"parts": list(case.parts), **of_net}


def data_options(case: Case) -> dict[str, Any]:
    """Return the arguments of the data set's function."""
    lengths = {"train": case.train_samples, "heldout": case.heldout_samples}
    return {"seed": case.seed, "inputs": case.inputs, "dtype": case.dtype, **lengths}


def optimizer_of(case: Case) -> dict[str, Any]:
    """Return the spec's field `optimizer` with all its defaults."""
    return TypeAdapter[Optimizer](Optimizer).validate_python(case.optimizer).model_dump()


def _schedule(case: Case) -> dict[str, Any]:
    if case.schedule == "own":
        return {"kind": "import", "function": f"{NETS}:waves", "options": {"rate": case.rate}}
    return {"kind": case.schedule, "rate": case.rate, "warmup_epochs": case.warmup_epochs}
