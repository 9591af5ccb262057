"""The mean of tensors over ranks, which is exact if all ranks have equal values.

A sum of n equal numbers in their own type is rounded, so that its n-th part may differ from the number for n = 3. Here
a number x is the sum of two, each of at most 29 of a double's 53 bits:

    x = c + f,   c = x rounded to float32,   f = x - c

Sums of n equal c and of n equal f are exact in float64 for n < 2^24, and their n-th parts are c and f.
"""

import torch
from torch import Tensor


def to_parts(x_N: Tensor) -> Tensor:
    """Return part_2N of numbers of any floating-point type, as float64, which can be summed over the ranks."""
    coarse_N = x_N.float().double()
    coarse_N = torch.where(coarse_N.isfinite(), coarse_N, 0.0)  # a number beyond float32's range is fine as a whole
    return torch.stack([coarse_N, x_N.double() - coarse_N])


def mean_of_parts(sum_2N: Tensor, count: int) -> Tensor:
    """Return mean_N as float64 from the sum of the parts of `count` ranks."""
    mean_N: Tensor = (sum_2N / count).sum(dim=0)
    return mean_N
