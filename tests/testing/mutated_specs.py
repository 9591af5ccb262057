"""Run specs that are mutated at random from a seed: every kind of choice, with plausible and absurd values."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from contract.spec.checks.model_size import model_size_of
from contract.spec.choices.data import Digits, Reversal, Synthetic, Text
from contract.spec.resources import Local
from contract.spec.run import RunSpec

SMALL_IMAGES = {"kind": "synthetic", "height": 40, "width": 40, "train_samples": 32, "heldout_samples": 6, "classes": 3}
SENTENCES = {"kind": "reversal", "vocabulary": 12, "max_length": 4, "train_samples": 32, "heldout_samples": 6}
TEXT = {"kind": "text", "context": 8, "train_samples": 32, "heldout_samples": 8}
GPT = {"kind": "gpt", "layers": 1, "width": 8, "heads": 2}
CHOICES: dict[str, list[Any]] = {
    "model": [
        *({"kind": kind} for kind in ("convnet", "lenet", "resnet18", "googlenet", "alexnet", "nin", "alexnet_bn")),
        {"kind": "convnet", "width": 2},
        {"kind": "gnmt", "units": 4, "layers": 2},
    ],
    "data": [SMALL_IMAGES, {"kind": "digits"}, SENTENCES, SMALL_IMAGES | {"channels": 1, "height": 28, "width": 28}],
    "optimizer": [
        {"kind": "sgd"},
        {"kind": "sgd", "momentum": 0.0},
        {"kind": "lars"},
        {"kind": "lamb"},
        {"kind": "adam"},
        {"kind": "adamw"},
    ],
    "preconditioner": [
        None,
        {"kind": "kfac", "largest_factor": 600},
        {"kind": "kfac", "variant": "layer_wise", "method": "inverse", "factor_every": 1, "largest_factor": 600},
    ],
    "schedule": [
        {"kind": "constant", "rate": 0.01},
        {"kind": "polynomial", "rate": 0.01, "warmup_epochs": 1.0},
        {"kind": "step", "rate": 0.01, "milestones": [1.0]},
        {"kind": "cosine", "rate": 0.01, "scaling": {"reference_batch": 4}, "stages": [{"epoch": 1.5, "rate": 0.02}]},
    ],
    "rule": [
        {"kind": "sync"},
        {"kind": "sync", "packed": False},
        *({"kind": "easgd", "variant": name} for name in ("original", "async", "hogwild", "sync1", "sync2", "sync3")),
        {"kind": "async_sgd"},
        {"kind": "async_sgd", "variant": "hogwild"},
    ],
    "collective": [
        *({"kind": kind} for kind in ("native", "ring", "torus", "tree", "halving_doubling", "hierarchical", "auto")),
        {"kind": "colors", "k": 2},
        {"kind": "server", "servers": 1},
        {"kind": "ring", "wire": "float16"},
    ],
    "precision": ["float32", "bfloat16", "float16"],
    "batch": [1, 2, 4, 6, 8, 16],
    "micro_batch": [None, 1, 2, 3],
    "batch_stages": [[], [{"epoch": 1, "batch": 8}], [{"epoch": 1, "batch": 4}, {"epoch": 2, "batch": 16}]],
    "epochs": [1, 2, 3],
    "clip_norm": [None, 1.0],
    "ema_decay": [None, 0.9],
    "label_smoothing": [0.0, 0.1],
    "batch_norm": [{}, {"group": 2}, {"statistics": "last_batch"}],
    "channels_last": [False, True],
    "tf32": [False, True],
    "cudnn_benchmark": [False, True],
    "device": [None, "cpu", "gpu"],
    "checkpoint": [{}, {"every_steps": 1}],
    "resources": [{"kind": "local"}, {"kind": "local", "ranks_per_node": 2}],
    "seed": [0, 2**32 - 1],
    "tensor": [None, None, {"kind": "one_d", "ranks": 2}, {"kind": "two_d", "q": 2}, {"kind": "three_d"}],
}
PLAIN = {"optimizer": {"kind": "sgd"}, "schedule": {"kind": "constant", "rate": 0.01}, "batch": 8, "epochs": 3}
PAIRS = (  # most other pairs are refused
    *({"model": model, "data": SMALL_IMAGES} for model in CHOICES["model"][:-1]),
    *({"model": {"kind": "convnet", "width": 2}, "data": data} for data in CHOICES["data"][:2]),
    {"model": CHOICES["model"][-1], "data": SENTENCES},
    {"model": CHOICES["model"][-1], "data": SENTENCES},
    {"model": GPT, "data": TEXT},
    {"model": GPT, "data": TEXT},
)
NUMBERS = (0, 1, 2, 3, 5, 7, 8, 64, -1, 2**31 - 1, 2**31, 2**62, 0.0, 0.5, 0.999, 1.0, 2.0, 1e-30, 1e-300, 1e9, 1e30)
OTHERS: tuple[Any, ...] = ("", "x", "none", None, True, [], {}, 1e300, float("nan"), [1], "gpu:1")


def mutated_specs(seed: int, count: int, bases: tuple[dict[str, Any], ...] = ()) -> Iterator[dict[str, Any]]:
    """Yield `count` documents of runs: random choices, or one of `bases`, with up to two mutated values."""
    random = Random(seed)
    for _ in range(count):
        if bases and random.random() < 0.5:
            spec = copy.deepcopy(random.choice(bases))
        else:
            spec = copy.deepcopy(PLAIN | random.choice(PAIRS))
            for name in random.sample(sorted(CHOICES), random.randint(0, 6)):
                spec[name] = copy.deepcopy(random.choice(CHOICES[name]))
        for _ in range(random.choice((0, 1, 1, 1, 2))):
            _mutate(spec, random)
        yield spec


def is_tiny(run: RunSpec) -> bool:
    """Return whether one step of the run takes at most seconds on one core, on at most two local ranks."""
    size = model_size_of(run.model, run.data)
    if not isinstance(run.resources, Local) or run.resources.world > 2 or size is None or size.weights > 70_000_000:
        return False
    if not isinstance(run.data, Digits | Synthetic | Reversal | Text) or run.data.heldout_samples > 400:
        return False
    kfac = run.preconditioner
    if kfac is not None and (kfac.largest_factor != 600 or kfac.skip):
        return False  # thousands of rows take minutes; and only torch knows whether a layer is left
    is_wide = isinstance(run.data, Synthetic) and max(run.data.shape) > 64
    is_long = isinstance(run.data, Reversal) and run.data.max_length > 64
    is_long |= isinstance(run.data, Text) and (run.data.context > 64 or run.data.path is not None)
    return run.batch <= 128 and run.data.train_samples <= 3000 and not is_wide and not is_long


def _mutate(spec: dict[str, Any], random: Random) -> None:
    """Replace or remove one value, at any depth."""
    at: Any = spec
    while True:
        key = random.choice(list(at) if isinstance(at, dict) else range(len(at)))
        inner = at[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.8:
            at = inner
            continue
        roll = random.random()
        if roll < 0.1 and isinstance(at, dict):
            del at[key]
        elif at is spec and key in CHOICES and roll < 0.6:
            at[key] = copy.deepcopy(random.choice(CHOICES[key]))
        else:
            at[key] = random.choice(NUMBERS if roll < 0.85 else OTHERS)
        return
