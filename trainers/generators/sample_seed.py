"""Seed the global random generators for each sample of a batch, and restore them after the batch.

A user's data set or augmentation draws from the generators of torch, NumPy or Python. With a seed from (seed, epoch,
number of the sample) the sample is the same on every rank, in every loader process and in a resumed run.

The seed of a sample is a hash of its number (splitmix64: Steele, Lea & Flood, 2014), which costs far less than NumPy's
SeedSequence.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.random import SeedSequence

from trainers.generators.seeds import preserved_generators

BITS_64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


@contextmanager
def sample_generators(seed: int, epoch: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that seeds the generators for a sample by its number; restore the generators at the end."""
    low, high = SeedSequence([seed, epoch]).generate_state(2).tolist()
    first = low | high << 32

    def seed_sample(number: int) -> None:
        mixed = _splitmix(first + number)
        random.seed(mixed)
        np.random.seed(mixed & 0xFFFFFFFF)
        torch.default_generator.manual_seed(mixed >> 1)

    with preserved_generators():
        yield seed_sample


def _splitmix(state: int) -> int:
    mixed = (state * GOLDEN + GOLDEN) & BITS_64
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & BITS_64
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & BITS_64
    return mixed ^ mixed >> 31
