"""Put a GPT on a mesh: every layer of the dense net becomes a layer that has this rank's shard of its parameters.

The names of the parameters and their order stay, so optimizer and checkpoints treat a shard as they treat the whole.
"""

from torch import nn
from torch.nn import Parameter

from trainers.models.gpt import GPT, Block, Embedding, parameter_of
from trainers.tensor.layers.cube import CubeLinear
from trainers.tensor.layers.line import FirstLinear, SecondLinear, TokenTable
from trainers.tensor.layers.shared import ShardedEmbedding, ShardedNorm
from trainers.tensor.layers.square import SquareHead, SquareLinear
from trainers.tensor.mesh import Mesh
from trainers.tensor.shards import PARTS, cut


def shard_gpt(net: GPT, mesh: Mesh) -> GPT:
    """Replace the layers of a dense GPT in place, and return it; raise ValueError if a size does not divide."""
    sharding = _Sharding(mesh)
    assert isinstance(net.embedding, Embedding)
    head = parameter_of(net.head)
    is_tied = head is parameter_of(net.embedding.tokens)
    net.embedding, tokens = sharding.embed(net.embedding)
    for block in net.blocks:
        assert isinstance(block, Block)
        attention = block.attention
        block.norm1, block.norm2 = sharding.norm(block.norm1), sharding.norm(block.norm2)
        attention.qkv, block.fc1 = sharding.first("qkv", attention.qkv), sharding.first("fc1", block.fc1)
        attention.proj, block.fc2 = sharding.second("proj", attention.proj), sharding.second("fc2", block.fc2)
        attention.heads = sharding.heads(attention.heads)
    net.norm = sharding.norm(net.norm)
    net.head = sharding.head(tokens if is_tied else sharding.cut("head.weight", head))
    return net


class _Sharding:
    """Makes the layers of one rank."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh, self._kind = mesh, mesh.shape.kind

    def cut(self, name: str, dense: nn.Parameter) -> Parameter:
        return Parameter(cut(name, dense.detach(), self._mesh.shape, self._mesh.rank))

    def heads(self, heads: int) -> int:
        own, rest = divmod(heads, self._mesh.shape.side)
        if rest:
            raise ValueError(f"{heads} heads do not divide into {self._mesh.shape.side} blocks")
        return own

    def embed(self, dense: Embedding) -> tuple[nn.Module, Parameter]:
        """Return the embedding on the mesh, and its shard of the tokens."""
        tokens = self.cut("tokens.weight", parameter_of(dense.tokens))
        positions = self.cut("positions.weight", parameter_of(dense.positions))
        if self._kind != "one_d":
            return ShardedEmbedding(tokens, positions, self._mesh, holders=self._holders), tokens
        dense.tokens = TokenTable(tokens, self._mesh.groups["i"])
        return dense, tokens

    @property
    def _holders(self) -> str:
        """The group over which the parameters of the residual stream's features are cut."""
        return "i" if self._kind == "two_d" else "ji"

    def norm(self, dense: nn.Module) -> nn.Module:
        if self._kind == "one_d":
            return dense
        assert isinstance(dense, nn.LayerNorm)
        weight, bias = self.cut("norm.weight", dense.weight), self.cut("norm.bias", dense.bias)
        features = "j" if self._kind == "two_d" else "l"
        return ShardedNorm(weight, bias, self._mesh, features=features, holders=self._holders, epsilon=dense.eps)

    def first(self, name: str, dense: nn.Module) -> nn.Module:
        weight, bias, parts = *self._linear(name, dense), PARTS.get(name, 1)
        match self._kind:
            case "one_d":
                return FirstLinear(weight, bias, self._mesh.groups["i"])
            case "two_d":
                return SquareLinear(weight, bias, self._mesh, parts=parts)
            case "three_d":
                return CubeLinear(weight, bias, self._mesh, inputs="l", outputs="j", parts=parts)

    def second(self, name: str, dense: nn.Module) -> nn.Module:
        weight, bias = self._linear(name, dense)
        match self._kind:
            case "one_d":
                return SecondLinear(weight, bias, self._mesh.groups["i"])
            case "two_d":
                return SquareLinear(weight, bias, self._mesh)
            case "three_d":
                return CubeLinear(weight, bias, self._mesh, inputs="j", outputs="l")

    def head(self, weight: Parameter) -> nn.Module:
        match self._kind:
            case "one_d":
                return FirstLinear(weight, None, self._mesh.groups["i"])
            case "two_d":
                return SquareHead(weight, self._mesh)
            case "three_d":
                return CubeLinear(weight, None, self._mesh, inputs="l", outputs="j")

    def _linear(self, name: str, dense: nn.Module) -> tuple[Parameter, Parameter]:
        weight, bias = parameter_of(dense), parameter_of(dense, "bias")
        return self.cut(f"{name}.weight", weight), self.cut(f"{name}.bias", bias)
