"""DenseState: the state of a replica's ranks as a single rank would have it, so that a checkpoint fits every mesh.

Shards are joined when a checkpoint is taken, and cut when it is read. Every rank of the replica then has the whole
state in memory once.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from trainers.tensor.mesh import Mesh
from trainers.tensor.shards import cut, join


class DenseState:
    """Joins and cuts parameters and the optimizer's state of each; all ranks of a replica call this together."""

    def __init__(self, mesh: Mesh, model: nn.Module, optimizer: Optimizer) -> None:
        self._mesh = mesh
        names = {p: name for name, p in model.named_parameters()}
        # the numbers that the optimizer's state dict gives to the parameters
        params = [p for group in optimizer.param_groups for p in group["params"]]
        self._names = [names[p] for p in params]
        self._shapes = [p.shape for p in params]

    def join(self, shards: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return dense parameters by their names."""
        return {name: self._join(name, shard.detach()) for name, shard in shards.items()}

    def cut(self, dense: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return this rank's shards of dense parameters."""
        return {name: self._cut(name, tensor) for name, tensor in dense.items()}

    def join_optimizer(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return an optimizer's state dict with dense tensors."""
        joined = {
            number: {
                key: self._join(self._names[number], value) if self._is_shard(value, number) else value
                for key, value in of_one.items()
            }
            for number, of_one in sorted(state["state"].items())
        }
        return {**state, "state": joined}

    def cut_optimizer(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a dense state dict with this rank's shards."""
        cut_state = {
            number: {
                key: self._cut(self._names[number], value) if isinstance(value, Tensor) and value.dim() else value
                for key, value in of_one.items()
            }
            for number, of_one in state["state"].items()
        }
        return {**state, "state": cut_state}

    def _is_shard(self, value: Any, number: int) -> bool:
        return isinstance(value, Tensor) and value.shape == self._shapes[number]

    def _join(self, name: str, shard: Tensor) -> Tensor:
        shards = self._mesh.groups["all"].all_gather(shard[None])
        return join(name, list(shards), self._mesh.shape)

    def _cut(self, name: str, dense: Tensor) -> Tensor:
        return cut(name, dense, self._mesh.shape, self._mesh.rank)
