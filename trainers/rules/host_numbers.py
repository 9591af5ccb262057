"""Numbers of the host as a vector on a device, without a wait for the device."""

from collections.abc import Sequence

import torch
from torch import Tensor


def numbers_on(device: torch.device, numbers: Sequence[float]) -> Tensor:
    """Return a float64 vector of a few numbers.

    torch.tensor(numbers, device=...) would copy them from the host's memory, and wait until a GPU has made the copy. To
    fill an element, a GPU gets the number with the call.
    """
    vector_N = torch.zeros(len(numbers), dtype=torch.float64, device=device)
    for index, number in enumerate(numbers):
        if number:
            vector_N[index].fill_(number)
    return vector_N
