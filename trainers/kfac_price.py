"""The price of a step with K-FAC: operations and words, and from them the seconds. This module loads no torch.

With b samples of a rank, k1 and k2 the intervals of factors and inverses, F the operations per second of a rank,

    compute        3 x forward flops x b / F                                          backward is two forward passes
    factors        [2 b sum_l T_l (a_l^2 + g_l^2) / F + sum of the factors over the ranks] / k1
    inverses       [9 n^3 of the busiest rank / (e F) + the gather in a column] / k2     e: efficiency of decompositions
    every step     products with the inverses / F + the gather in a row + sum of the gradients

Each sum is priced with the cheapest plan. Nothing overlaps here, so each time is an upper bound; SGD's too. K-FAC pays
where it needs fewer epochs than SGD by more than the ratio of the steps' times.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.price import Price
from trainers.layer_shapes import LayerShape
from trainers.preconditioners.assignment import assign
from trainers.preconditioners.shapes import total_factor_words
from trainers.preconditioners.words import Words, count_words, decomposition_flops, held_words, precondition_flops

WORD_BYTES = 4


@dataclass(frozen=True)
class KFACChoice:
    """The options of K-FAC that decide its cost."""

    factor_every: int = 10
    inverse_every: int = 100
    method: str = "eigen"
    fraction: float = 1.0
    factor_bytes: int = WORD_BYTES  # of a number of a factor in messages


@dataclass(frozen=True)
class RankSpeed:
    """Operations per second of a rank."""

    flops: float  # of products of matrices
    decomposition_efficiency: float = 0.1  # eigendecompositions reach a fraction of it


@dataclass(frozen=True)
class KFACPrice:
    """The seconds of a step's parts, K-FAC's as means over its steps, and the words."""

    words: Words
    compute_s: float
    gradient_sum_s: float
    factors_s: float
    factor_sum_s: float
    inverses_s: float
    inverse_gather_s: float
    precondition_s: float
    gradient_gather_s: float

    @property
    def plain_s(self) -> float:
        """The time of a step without K-FAC."""
        return self.compute_s + self.gradient_sum_s

    @property
    def ratio(self) -> float:
        """The time of a step with K-FAC as a multiple of a step without."""
        own = self.factors_s + self.factor_sum_s + self.inverses_s + self.inverse_gather_s
        return (self.plain_s + own + self.precondition_s + self.gradient_gather_s) / self.plain_s


def price_kfac(
    layers: Sequence[LayerShape],
    choice: KFACChoice,
    *,
    samples: int,
    speed: RankSpeed,
    network: Network,
    sums: Sequence[Price],
) -> KFACPrice:
    """Return the price of a net's step on `samples` samples of each rank; `sums`: the plans of this network, priced."""
    blocks = [layer.block for layer in layers]
    assignment = assign(blocks, world=network.world, fraction=choice.fraction)
    words = count_words(blocks, assignment, method=choice.method)
    g, m = len(assignment.rows), len(assignment.columns)
    own = [block for block, column in zip(blocks, assignment.column_of, strict=True) if column == 0]
    efficiency = speed.decomposition_efficiency if choice.method == "eigen" else 1.0
    decomposing_s = decomposition_flops(blocks, assignment, method=choice.method) / (efficiency * speed.flops)
    return KFACPrice(
        words=words,
        compute_s=3 * samples * sum(layer.forward_flops for layer in layers) / speed.flops,
        gradient_sum_s=_sum_s(sums, WORD_BYTES * sum(block.weights for block in blocks)),
        factors_s=samples * sum(map(factor_flops, layers)) / speed.flops / choice.factor_every,
        factor_sum_s=_sum_s(sums, choice.factor_bytes * words.factors) / choice.factor_every,
        inverses_s=decomposing_s / choice.inverse_every,
        inverse_gather_s=_gather_s(network, words.inverses, members=g, rings=m) / choice.inverse_every,
        precondition_s=precondition_flops(own, method=choice.method) / speed.flops,
        gradient_gather_s=_gather_s(network, words.gradients, members=m, rings=1),
    )


def stored_words(layers: Sequence[LayerShape], choice: KFACChoice, *, world: int) -> tuple[int, int]:
    """Return the numbers of the factors, which every rank has, and of the decompositions of the rank with the most."""
    blocks = [layer.block for layer in layers]
    assignment = assign(blocks, world=world, fraction=choice.fraction)
    return total_factor_words(blocks), held_words(blocks, assignment, method=choice.method)


def factor_flops(layer: LayerShape) -> float:
    """Return the operations of the statistics of one sample."""
    inputs = 0 if layer.block.is_diagonal else layer.block.inputs
    return 2.0 * layer.locations * (inputs**2 + layer.block.outputs**2)


def _sum_s(sums: Sequence[Price], size_bytes: float) -> float:
    return min((one.seconds(size_bytes) for one in sums), default=0.0)


def _gather_s(network: Network, words: int, *, members: int, rings: int) -> float:
    """Return the time of a gather in rings of `members` ranks; `rings` of them may leave a host over its link."""
    if len(network.hosts) == 1:
        return (members - 1) * network.inside_latency_s + WORD_BYTES * words / network.inside_rate
    shared = min(rings, max(map(len, network.hosts)))
    return (members - 1) * network.latency_s + WORD_BYTES * words * shared / network.rate
