"""ShardedSync: synchronous SGD of replicas that several ranks share: each rank averages its shard over the replicas.

The values of a step, its loss and the ranks' requests, are averaged within each replica first.
"""

from typing import Any

from torch import Tensor

from trainers.rules.sync import Sync
from trainers.tensor.mesh import Mesh


class ShardedSync(Sync):
    """`allreduce` and `world` are of the ranks that have the same shard of other replicas."""

    def __init__(self, mesh: Mesh, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._mesh = mesh

    def step(self, values: Tensor, /) -> Tensor:
        """Step along the mean gradient, and return the means of the values over all ranks."""
        replica = self._mesh.groups["all"]
        return super().step(replica.all_reduce(values.flatten()).view(values.shape) / replica.size)
