"""The order of the samples: an epoch is one permutation of all samples, cut into global batches.

The permutation depends only on the seed and the epoch, and each rank uses its slice of the global batch, so a run on
more ranks uses the same samples in the same steps.
"""

from collections.abc import Iterator

import torch
from numpy.random import SeedSequence
from torch import Tensor


def permutation(samples: int, *, seed: int, epoch: int) -> Tensor:
    """Return the order of `samples` samples in `epoch` (from 0)."""
    # torch uses only 32 bits of a seed; the hash avoids that neighboring seeds and epochs get the same bits.
    mixed = int(SeedSequence([seed, epoch]).generate_state(1)[0])
    generator = torch.Generator().manual_seed(mixed)
    return torch.randperm(samples, generator=generator)


def shares(order_N: Tensor, batch: int, *, ranks: range, world: int) -> Tensor:
    """Return number_RTS: the samples of each of these ranks in every step; skip an incomplete last batch."""
    if batch % world:
        raise ValueError(f"a batch of {batch} does not divide over {world} ranks")
    steps = len(order_N) // batch
    number_TRS = order_N[: steps * batch].view(steps, world, batch // world)
    return number_TRS[:, ranks.start : ranks.stop].transpose(0, 1)


def slices(order_N: Tensor, batch: int, *, rank: int, world: int) -> Iterator[Tensor]:
    """Yield for each step the samples of the global batch on `rank`; skip an incomplete last batch."""
    (number_TS,) = shares(order_N, batch, ranks=range(rank, rank + 1), world=world)
    yield from number_TS
