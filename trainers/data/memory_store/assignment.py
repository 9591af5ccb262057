"""Who holds which samples of an epoch: each rank of a group what it takes, and of what nobody takes an even rest.

N samples over G ranks: rank j holds floor(N / G), and one more where j < N mod G, in every epoch. A rank takes at most
floor(N / G) in one epoch, because all take equally many and none twice.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainers.data.sampler import permutation


def place(takes: Sequence[Tensor], *, samples: int, epoch: int) -> list[Tensor]:
    """Return the numbers that each rank holds: those it takes, in that order, and then its share of the rest."""
    is_left_N = torch.ones(samples, dtype=torch.bool)
    for number_S in takes:
        is_left_N[number_S] = False
    left_S = is_left_N.nonzero().flatten()
    left_S = left_S[permutation(len(left_S), seed=0, epoch=epoch)]  # in order of number, rank 0 would hold the low ones
    taken = sum(len(number_S) for number_S in takes)
    if taken + len(left_S) != samples:
        raise ValueError(f"{taken} samples are taken and {len(left_S)} are not, of {samples}: some are taken twice")
    counts = [samples // len(takes) + (rank < samples % len(takes)) for rank in range(len(takes))]
    rests = [count - len(number_S) for count, number_S in zip(counts, takes, strict=True)]
    if min(rests) < 0:
        raise ValueError(f"a rank takes {-min(rests)} samples more than its part of {samples} over {len(takes)} ranks")
    return [torch.cat(parts) for parts in zip(takes, torch.split(left_S, rests), strict=True)]
