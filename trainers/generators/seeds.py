"""Seed the generators of Python, NumPy and torch: of each rank for itself, or of all ranks alike.

What every rank builds for itself must be equal on all ranks: data, net and optimizer, and what an optimizer draws in
its steps. Dropout must differ, because equal masks on all ranks would not average out.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.random import SeedSequence
from torch.optim import Optimizer


def seed_generators(run_seed: int, *, rank: int, step: int) -> None:
    """Seed every generator, differently for each rank and each step."""
    words = SeedSequence([run_seed, rank, step]).generate_state(4)
    random.seed(int(words[0]) << 32 | int(words[1]))
    np.random.seed(int(words[2]))
    torch.manual_seed(int(words[3]))


def seed_alike(run_seed: int, purpose: str) -> None:
    """Seed every generator for a purpose, such as `model`: equally on all ranks and in all attempts of a run."""
    torch.manual_seed(_seed_on_host(run_seed, purpose, 0))


@contextmanager
def alike(run_seed: int, purpose: str, *, step: int = 0) -> Iterator[None]:
    """Return a context in which every generator draws the same on all ranks; the rank's own states return at its end.

    Generators of a GPU are those of the current one. A context costs 0.1 to 0.2 ms: NumPy copies its states slowly.
    """
    with preserved_generators():
        has_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]  # torch does not annotate it
        own = torch.cuda.get_rng_state() if has_gpu else None
        seed = _seed_on_host(run_seed, purpose, step)
        # torch.manual_seed takes 0.2 ms where no GPU has been used, since it formats the stack of its callers
        torch.default_generator.manual_seed(seed)
        if has_gpu:
            torch.cuda.manual_seed(seed)
        try:
            yield
        finally:
            if own is not None:
                torch.cuda.set_rng_state(own)


def draw_alike(optimizer: Optimizer, run_seed: int, *, step: Callable[[], int]) -> None:
    """Let an optimizer draw the same on all ranks, and in a resumed run, in each of its steps.

    `step` returns the number of steps that the run has taken.
    """
    context = ExitStack()

    def before(*_: Any) -> None:
        context.enter_context(alike(run_seed, "optimizer step", step=step()))

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(lambda *_: context.close())


@contextmanager
def preserved_generators() -> Iterator[None]:
    """Restore the generators of Python, NumPy, and torch on the host, at the end of the context."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


def _seed_on_host(run_seed: int, purpose: str, step: int) -> int:
    """Seed Python's and NumPy's generators, and return the seed of torch's."""
    words = np.frombuffer(sha256(f"{run_seed} {purpose} {step}".encode()).digest(), dtype="<u4").tolist()
    random.seed(words[0] << 32 | words[1])
    np.random.seed(words[2])
    return int(words[3])
