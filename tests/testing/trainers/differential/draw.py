"""Draw a random case from a seed: the same case in every process and at every time."""

import random
from dataclasses import replace
from typing import Any

from contract.spec.batch_size import split_into_passes
from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.nets import NETS
from tests.testing.trainers.differential.parts import BATCH_NORMS, PARTS

EXEMPT = ("none", "none", "bias_and_norm", "one_dimensional")
# large in float32, and weight decay too, because a gradient that is 0 but for the order of sums, as that of a bias
# before batch normalization, would otherwise be divided by itself
EPSILON = {"float32": 0.1, "float64": 0.01}
MANY = 500
REFUSED = 0.03  # share of the cases with batch normalization whose passes may have one sample


def draw(seed: int) -> Case:
    """Return the case of a seed."""
    draws = random.Random(seed)
    dtype = draws.choice(["float32", "float32", "float64"])
    precision = draws.choice(["float32"] * 4 + ["float16", "bfloat16"]) if dtype == "float32" else "float32"
    optimizer, rate = _draw_optimizer(draws, EPSILON[dtype])
    has_own_loss = draws.random() < 0.2
    world = draws.choice([1, 2, 2, 3, 3])
    case = Case(
        seed=seed,
        parts=_draw_parts(draws, dtype=dtype, precision=precision),
        inputs=draws.choice(["images", "vectors", "tokens"]),
        dtype=dtype,
        draws=draws.choice(["torch", "torch", "python", "numpy"]),
        optimizer=optimizer,
        schedule=draws.choice(["constant", "cosine", "own"]),
        rate=rate,
        warmup_epochs=draws.choice([0.0, 0.0, 0.5]),
        world=world,
        clip_norm=draws.choice([None, None, 0.05, 1.0]),
        ema_decay=draws.choice([None, None, 0.5, 0.9]),
        precision=precision,
        collective=_draw_collective(draws, world),
        packed=draws.random() < 0.7,
        overlap=draws.random() < 0.7,
        label_smoothing=0.0 if has_own_loss else draws.choice([0.0, 0.1]),
        own_loss=has_own_loss,
        channels_last=draws.random() < 0.2,
    )
    return _draw_steps(draws, case)


def every_feature() -> set[str]:
    """Return every part, and every choice that many draws have."""
    return {f"part {part}" for part in PARTS}.union(*(draw(seed).features() for seed in range(MANY)))


def _draw_steps(draws: random.Random, case: Case) -> Case:
    """Return the case with its batches and steps; every tenth seed pauses and resumes."""
    # over two samples batch normalization is a step function: it makes large differences of the smallest
    least = (3 if draws.random() > REFUSED else 1) if {*BATCH_NORMS} & {*case.parts} else 1
    share, epochs = draws.choice([max(2, least), 4, 5, 6]), draws.choice([2, 2, 3])
    later = draws.choice([None, None, None, share + 1, 2 * share])
    micro_batches = [size for size in range(1, share) if _least_pass(share, later, size) >= least]
    largest = case.world * (later or share)
    train = largest * draws.choice([2, 3]) + draws.randrange(largest)
    steps = train // (case.world * share) + (epochs - 1) * (train // largest)
    return replace(
        case,
        share=share,
        later_share=later,
        micro_batch=draws.choice([None, *micro_batches]),
        train_samples=train,
        heldout_samples=draws.choice([1, 2, 7, 12]),
        epochs=epochs,
        resumes_at=draws.randrange(1, steps) if case.seed % 10 == 0 else None,
    )


def _least_pass(share: int, later: int | None, micro_batch: int) -> int:
    return min(min(split_into_passes(size, micro_batch)) for size in (share, later or share))


def _draw_parts(draws: random.Random, *, dtype: str, precision: str) -> tuple[str, ...]:
    left_out = set() if dtype == precision == "float32" else {"bfloat16_layer", "float64_layer"}
    if precision == "float16":
        left_out.add("lstm")  # torch has no LSTM of float16 on CPUs
    if draws.random() < 0.8:  # bounds of 16 bits are loose, so most nets have none
        left_out.add("bfloat16_layer")
    names = [name for name in PARTS if name not in left_out]
    return tuple(draws.sample(names, draws.randrange(1, 6)))


def _draw_optimizer(draws: random.Random, epsilon: float) -> tuple[dict[str, Any], float]:
    """Return the optimizer and a rate at which a step changes the weights by some hundredths."""
    kind = draws.choice(["sgd", "sgd", "lars", "lamb", "adam", "adamw", "own", "torch"])
    exempt = draws.choice(EXEMPT)
    if kind == "sgd":
        momentum = draws.choice([0.0, 0.9])
        has_nesterov = momentum > 0 and draws.random() < 0.5
        form = "rate_outside" if has_nesterov else draws.choice([None, "rate_outside", "rate_inside"])
        decay = {"weight_decay": draws.choice([0.0, 0.1]), "no_weight_decay": exempt}
        return {"kind": kind, "momentum": momentum, "nesterov": has_nesterov, "form": form, **decay}, 0.1
    if kind == "lars":
        form = draws.choice(["lars", "larc_scale", "larc_clip"])
        numbers = {"weight_decay": 0.1, "trust_coefficient": 0.1, "epsilon": epsilon}
        return {"kind": kind, "momentum": 0.9, "form": form, "skip": exempt, **numbers}, 0.3
    if kind == "lamb":
        return {"kind": kind, "weight_decay": 0.1, "epsilon": epsilon, "skip": exempt}, 0.03
    if kind in ("adam", "adamw"):
        decay = {"weight_decay": draws.choice([0.0, 0.1]), "no_weight_decay": exempt}
        return {"kind": kind, "beta2": 0.9, "epsilon": epsilon, **decay}, 0.03
    function = f"{NETS}:SoftSteps" if kind == "own" else "torch.optim:RMSprop"
    options = {"weight_decay": 0.1} if kind == "own" else {"weight_decay": 0.1, "eps": epsilon, "momentum": 0.5}
    rate = 0.1 if kind == "own" else 0.01
    return {"kind": "import", "function": function, "options": options, "no_weight_decay": exempt}, rate


def _draw_collective(draws: random.Random, world: int) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [{"kind": kind} for kind in ("native", "ring", "torus", "tree", "halving_doubling")]
    kinds += [{"kind": "torus", "rows": world}, {"kind": "hierarchical"}, {"kind": "server", "servers": world}]
    kinds += [{"kind": "colors", "k": world}]
    return draws.choice(kinds)
