"""Seed the global random generators for one sample, and restore them after a batch.

A user's data set or augmentation draws from the generators of torch, NumPy or Python. With a seed from (seed, epoch,
number of the sample) the sample is the same on every rank, in every loader process and in a resumed run.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.random import SeedSequence


@contextmanager
def preserved_generators() -> Iterator[None]:
    """Restore the generators of torch, NumPy and Python at the end."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


def seed_sample(seed: int, epoch: int, number: int) -> None:
    """Seed the generators for one sample of one epoch."""
    words = SeedSequence([seed, epoch, number]).generate_state(3)
    random.seed(int(words[0]))
    np.random.seed(int(words[1]))
    torch.default_generator.manual_seed(int(words[2]))
