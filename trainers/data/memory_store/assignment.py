"""Assign the samples of an epoch to the ranks of a group: each rank stores its own samples and a share of the rest.

Of N samples on G ranks, rank j stores floor(N / G) samples, and one more if j < N mod G, in every epoch. A rank uses at
most floor(N / G) samples in one epoch, because all ranks use equally many and no sample is used twice.

Cost: O(N + G) for each rank, however many ranks there are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from trainers.data.sampler import permutation


@dataclass(frozen=True)
class Assignment:
    """The samples that each rank stores: rank r those at first_R[r] to first_R[r + 1] of number_N."""

    number_N: Tensor
    first_R: Tensor  # one element more than ranks

    def __len__(self) -> int:
        return len(self.first_R) - 1

    def __getitem__(self, rank: int) -> Tensor:
        first, end = self.first_R[rank : rank + 2].tolist()
        return self.number_N[first:end]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(torch.split(self.number_N, self.first_R.diff().tolist()))

    def owners(self) -> Tensor:
        """Return owner_N: the rank that stores each sample."""
        owner_N = torch.empty(len(self.number_N), dtype=torch.int32)
        ranks = torch.arange(len(self), dtype=torch.int32)
        owner_N[self.number_N] = ranks.repeat_interleave(self.first_R.diff())
        return owner_N


def assign_samples(samples_of: Sequence[Tensor], *, samples: int, epoch: int) -> Assignment:
    """Return the samples that each rank stores: the samples that it uses, in order, then its share of the rest."""
    is_unused_N = torch.ones(samples, dtype=torch.bool)
    is_unused_N[torch.cat(list(samples_of))] = False
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
    parts = chain.from_iterable(zip(samples_of, torch.split(unused_S, rests), strict=True))
    return Assignment(torch.cat(list(parts)), torch.tensor([0, *counts]).cumsum(0))
