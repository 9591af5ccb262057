"""The collectives of one pass of a GPT on a mesh, forward and backward: which ranks and how many words, without torch.

A layer of K inputs and N outputs, and M = B T tokens of a replica. Words that all ranks of the replica send together
for the layer, forward and backward:

    1-D on n ranks      2 (n - 1) M K for a first layer, 2 (n - 1) M N for a second
    2-D on q^2 ranks    3 (q - 1) (M K + K N)
    3-D on q^3 ranks    2 (q - 1) (M K + K N + M N), and (q - 1) (M K + K N) more to gather X and W again

so per rank of n words each: 4 (n - 1) / n per pair of layers, 6 (q - 1) / q^2, and 6 or 8 (q - 1) / q^3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from trainers.collectives.plan import Operation
from trainers.tensor.mesh import Kind, Shape


@dataclass(frozen=True)
class Sizes:
    """The sizes of a GPT, and of a pass of one replica."""

    samples: int
    context: int
    width: int
    layers: int
    vocabulary: int

    @property
    def tokens(self) -> int:
        """The tokens of a pass."""
        return self.samples * self.context


@dataclass(frozen=True)
class Call:
    """A collective that every group of some axes carries out; `words`: the length of its whole vector."""

    layer: str
    group: str
    operation: Operation
    words: int
    count: int = 1

    def words_sent(self, shape: Shape) -> int:
        """Return the words that all ranks of the replica send together."""
        ranks = len(shape.members(self.group, 0))
        per_word = 2 * (ranks - 1) if self.operation == "all_reduce" else ranks - 1
        return self.count * (shape.size // ranks) * per_word * self.words


def calls_of_pass(shape: Shape, sizes: Sizes) -> Iterator[Call]:
    """Yield the collectives of a forward and a backward pass with its loss."""
    flat: dict[Kind, type[_Line | _Square]] = {"one_d": _Line, "two_d": _Square}
    make = _Cube(shape, sizes) if shape.kind == "three_d" else flat[shape.kind](shape.side, sizes)
    width, blocks = sizes.width, sizes.layers
    yield from make.embedding()
    for layer, outputs in (("qkv", 3 * width), ("fc1", 4 * width)):
        yield from _repeated(make.norm(), blocks)
        yield from _repeated(make.first(layer, width, outputs), blocks)
    for layer, inputs in (("proj", width), ("fc2", 4 * width)):
        yield from _repeated(make.second(layer, inputs, width), blocks)
    yield from make.norm()
    yield from make.head()
    yield from make.loss()


def words_of_pass(shape: Shape, sizes: Sizes) -> int:
    """Return the words that all ranks of a replica send together in a forward and a backward pass."""
    return sum(call.words_sent(shape) for call in calls_of_pass(shape, sizes))


def _repeated(calls: Iterator[Call], times: int) -> Iterator[Call]:
    for call in calls:
        yield Call(call.layer, call.group, call.operation, call.words, call.count * times)


class _Line:
    """Layers on a line of n ranks."""

    def __init__(self, n: int, sizes: Sizes) -> None:
        self._n, self._sizes = n, sizes

    def embedding(self) -> Iterator[Call]:
        yield Call("embedding", "i", "all_reduce", self._sizes.tokens * self._sizes.width)

    def norm(self) -> Iterator[Call]:
        yield from ()

    def first(self, layer: str, inputs: int, outputs: int) -> Iterator[Call]:
        yield Call(layer, "i", "all_reduce", self._sizes.tokens * inputs)

    def second(self, layer: str, inputs: int, outputs: int) -> Iterator[Call]:
        yield Call(layer, "i", "all_reduce", self._sizes.tokens * outputs)

    def head(self) -> Iterator[Call]:
        yield from self.first("head", self._sizes.width, self._sizes.vocabulary)

    def loss(self) -> Iterator[Call]:
        yield Call("loss", "i", "all_gather", self._n * self._sizes.tokens)
        yield Call("loss", "i", "all_reduce", 2 * self._sizes.tokens)


class _Square:
    """Layers on a square of q x q ranks."""

    def __init__(self, q: int, sizes: Sizes) -> None:
        self._q, self._sizes = q, sizes
        self._tokens = sizes.tokens // q  # of a rank

    def embedding(self) -> Iterator[Call]:
        yield from self._gathered("embedding", self._sizes.vocabulary * self._sizes.width // self._q)
        yield from self._gathered("embedding", self._sizes.context * self._sizes.width // self._q)

    def norm(self) -> Iterator[Call]:
        yield Call("norm", "j", "all_reduce", self._tokens, count=2)
        yield Call("norm", "j", "all_reduce", 2 * self._tokens)
        yield from self._gathered("norm", 2 * self._sizes.width // self._q)

    def first(self, layer: str, inputs: int, outputs: int) -> Iterator[Call]:
        q, matrix, block = self._q, inputs * outputs // self._q**2, self._tokens * inputs // self._q
        yield Call(layer, "j", "broadcast", block, count=2 * q)
        yield Call(layer, "i", "broadcast", matrix, count=2 * q)
        yield Call(layer, "j", "reduce", block, count=q)
        yield Call(layer, "i", "reduce", matrix, count=q)
        yield from self._gathered(layer, outputs // q)

    second = first

    def head(self) -> Iterator[Call]:
        q, sizes = self._q, self._sizes
        table, logits = sizes.vocabulary * sizes.width // q**2, self._tokens * sizes.vocabulary // q
        yield Call("head", "i", "broadcast", table, count=2 * q)
        yield Call("head", "j", "reduce", logits, count=q)
        yield Call("head", "j", "broadcast", logits, count=q)
        yield Call("head", "i", "reduce", table, count=q)

    def loss(self) -> Iterator[Call]:
        yield Call("loss", "j", "all_gather", self._q * self._tokens)
        yield Call("loss", "j", "all_reduce", 2 * self._tokens)

    def _gathered(self, layer: str, words: int) -> Iterator[Call]:
        yield Call(layer, "i", "all_gather", words)
        yield Call(layer, "i", "reduce_scatter", words)


class _Cube:
    """Layers on a cube of q x q x q ranks."""

    def __init__(self, shape: Shape, sizes: Sizes) -> None:
        self._q, self._sizes = shape.side, sizes
        self._gathers = 1 if shape.saves_gathered else 2  # of the inputs and of the weights
        self._tokens = sizes.tokens // self._q**2  # of a rank

    def embedding(self) -> Iterator[Call]:
        yield from self._gathered("embedding", "ji", self._sizes.vocabulary * self._sizes.width // self._q)
        yield from self._gathered("embedding", "ji", self._sizes.context * self._sizes.width // self._q)

    def norm(self) -> Iterator[Call]:
        yield Call("norm", "l", "all_reduce", self._tokens, count=2)
        yield Call("norm", "l", "all_reduce", 2 * self._tokens)
        yield from self._gathered("norm", "ji", 2 * self._sizes.width // self._q)

    def first(self, layer: str, inputs: int, outputs: int) -> Iterator[Call]:
        yield from self._product(layer, inputs, outputs, axes="lj")
        yield from self._gathered(layer, "li", outputs // self._q)

    def second(self, layer: str, inputs: int, outputs: int) -> Iterator[Call]:
        yield from self._product(layer, inputs, outputs, axes="jl")
        yield from self._gathered(layer, "ji", outputs // self._q)

    def head(self) -> Iterator[Call]:
        yield from self._product("head", self._sizes.width, self._sizes.vocabulary, axes="lj")

    def loss(self) -> Iterator[Call]:
        yield Call("loss", "j", "all_gather", self._q * self._tokens)
        yield Call("loss", "j", "all_reduce", 2 * self._tokens)

    def _product(self, layer: str, inputs: int, outputs: int, *, axes: str) -> Iterator[Call]:
        tokens = self._q * self._tokens  # of a gathered block
        yield from self._gathered(layer, axes[1], tokens * inputs // self._q, times=self._gathers)
        yield from self._gathered(layer, "i", inputs * outputs // self._q**2, times=self._gathers)
        yield from self._gathered(layer, axes[0], tokens * outputs // self._q)

    def _gathered(self, layer: str, group: str, words: int, *, times: int = 1) -> Iterator[Call]:
        yield Call(layer, group, "all_gather", words, count=times)
        yield Call(layer, group, "reduce_scatter", words)
