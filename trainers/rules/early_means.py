"""EarlyMeans: the ranks' mean loss and requests, exchanged while a GPU computes the backward pass.

After the last sum of gradients the numbers would be known only when the GPU has caught up with the host. Then the host
could start the update only afterwards, and the GPU would idle meanwhile. Before the backward pass they cost one small
message, and the host reads them while the GPU still works.
"""

import torch
from torch import Tensor

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.side_stream import HostCopy, SideStream


def are_early(device_type: str) -> bool:
    """Return whether the means travel before the gradients: on a CPU, a message of their own would only cost time."""
    return device_type == "cuda"


class EarlyMeans:
    """`allreduce` sums over the ranks; `side` is the stream of all sums, which so run in one order on every rank."""

    def __init__(self, allreduce: Allreduce, *, world: int, side: SideStream) -> None:
        self._allreduce, self._world, self._side = allreduce, world, side
        self._copy = HostCopy()
        self._begun = False

    @torch.no_grad()
    def begin(self, values_N: Tensor) -> None:
        """Begin to exchange and to copy the means of `values_N`."""
        with self._side.after_current(values_N.device):
            means_N = values_N / self._world
            if self._world > 1:
                self._allreduce(means_N)
            self._copy.begin(means_N)
        self._begun = True

    def read(self) -> Tensor | None:
        """Return the means, in the host's memory; None if no exchange has begun since the last call."""
        if not self._begun:
            return None
        self._begun = False
        return self._copy.read()
