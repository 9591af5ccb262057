"""Which images each step takes: an epoch is one permutation of all of them, cut into global batches.

The permutation depends on the seed and the epoch alone, and a rank takes its slice of the global batch: a run on
more ranks sees the same images in the same steps.
"""

from collections.abc import Iterator

import torch
from numpy.random import SeedSequence
from torch import Tensor


def permutation(samples: int, *, seed: int, epoch: int) -> Tensor:
    """Return the order in which `epoch` (from 0) goes through `samples` images."""
    # hashed: torch keeps 32 bits of a seed, of which a plain sum of the two would give neighbors the same
    mixed = int(SeedSequence([seed, epoch]).generate_state(1)[0])
    generator = torch.Generator().manual_seed(mixed)
    return torch.randperm(samples, generator=generator)


def slices(order_N: Tensor, batch: int, *, rank: int, world: int) -> Iterator[Tensor]:
    """Yield, step by step, the images of the global batch that `rank` takes; an incomplete last batch is left out."""
    if batch % world:
        raise ValueError(f"a batch of {batch} does not divide over {world} ranks")
    share = batch // world
    for start in range(0, len(order_N) - batch + 1, batch):
        yield order_N[start + rank * share : start + (rank + 1) * share]
