"""Assign the samples of an epoch to the ranks of a group: each rank stores its own samples and a share of the rest.

Of N samples on G ranks, rank j stores floor(N / G) samples, and one more if j < N mod G, in every epoch. A rank uses at
most floor(N / G) samples in one epoch, because all ranks use equally many and no sample is used twice.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainers.data.sampler import permutation


def assign_samples(samples_of: Sequence[Tensor], *, samples: int, epoch: int) -> list[Tensor]:
    """Return the samples that each rank stores: the samples that it uses, in order, then its share of the rest."""
    is_unused_N = torch.ones(samples, dtype=torch.bool)
    for number_S in samples_of:
        is_unused_N[number_S] = False
    unused_S = is_unused_N.nonzero().flatten()
    unused_S = unused_S[permutation(len(unused_S), seed=0, epoch=epoch)]  # otherwise rank 0 would store the low numbers
    used = sum(len(number_S) for number_S in samples_of)
    if used + len(unused_S) != samples:
        raise ValueError(f"{used} of {samples} samples are used and {len(unused_S)} are not: some are used twice")
    counts = [samples // len(samples_of) + (rank < samples % len(samples_of)) for rank in range(len(samples_of))]
    rests = [count - len(number_S) for count, number_S in zip(counts, samples_of, strict=True)]
    if min(rests) < 0:
        raise ValueError(
            f"a rank uses {-min(rests)} samples more than its share of {samples} samples on {len(samples_of)} ranks"
        )
    return [torch.cat(parts) for parts in zip(samples_of, torch.split(unused_S, rests), strict=True)]
