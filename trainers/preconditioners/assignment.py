"""Which rank decomposes which factor, and which ranks hold the inverses of a layer. This module loads no torch.

With w ranks and the fraction f, g = f w ranks hold the inverses of each layer (KAISA: Pauloski et al., 2021). The ranks
form a grid of g rows and m = w / g columns:

    column c    ranks c, c + m, c + 2 m, ...   hold the same inverses; its ranks divide their decompositions
    row r       ranks r m to r m + m - 1       hold the inverses of all layers together; they exchange gradients

f = 1 is COMM-OPT of Pauloski et al. (2020): no message between two updates. The smallest f, 1 / w, is their layer-wise
distribution: each rank preconditions its own layers and sends the results at every step. The ranks of a row are
neighbors, because a row exchanges at every step and a column only with the inverses.

A decomposition of an n x n matrix costs n^3. Layers are assigned to columns, and the factors of a column to its ranks,
in descending order of cost, each to the least busy one: longest processing time first (Graham, 1969), at most 4/3 of
the best.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace

from trainers.preconditioners.shapes import BlockShape

Factor = tuple[int, int]  # the number of the block; 0: factor of the inputs, 1: of the outputs


@dataclass(frozen=True)
class Assignment:
    """The grid of ranks; for each block its column, for each factor the rank that decomposes it."""

    columns: list[list[int]]
    rows: list[list[int]]
    column_of: list[int]
    worker_of: dict[Factor, int]

    def column(self, rank: int) -> int:
        """Return the column of a rank."""
        return rank % len(self.columns)

    def blocks_of(self, column: int) -> list[int]:
        """Return the blocks whose inverses a column holds, in the order of the net."""
        return [block for block, of in enumerate(self.column_of) if of == column]

    def factors_of(self, rank: int) -> list[Factor]:
        """Return the factors that a rank decomposes, in the order of the net."""
        return sorted(factor for factor, worker in self.worker_of.items() if worker == rank)


def assign(blocks: Sequence[BlockShape], *, world: int, fraction: float) -> Assignment:
    """Return the assignment, the same on every rank."""
    g = holders(world, fraction)
    m = world // g
    columns = [list(range(column, world, m)) for column in range(m)]
    column_of = longest_first([sum(block.costs) for block in blocks], m)
    worker_of: dict[Factor, int] = {}
    for column, ranks in enumerate(columns):
        factors = [
            (number, side)
            for number, block in enumerate(blocks)
            if column_of[number] == column
            for side in (0, 1)
            if block.costs[side]
        ]
        workers = longest_first([blocks[number].costs[side] for number, side in factors], g)
        worker_of |= {factor: ranks[worker] for factor, worker in zip(factors, workers, strict=True)}
    return Assignment(columns, [list(range(row * m, row * m + m)) for row in range(g)], column_of, worker_of)


def holders(world: int, fraction: float) -> int:
    """Return how many ranks hold the inverses of a layer: the largest divisor of the world up to the fraction of it."""
    most = max(1, int(fraction * world + 1e-9))
    return next(g for g in range(most, 0, -1) if world % g == 0)


def longest_first(costs: Sequence[int], machines: int) -> list[int]:
    """Return the machine of each job: the longest job first, to the machine with the least load."""
    loads = [(0, machine) for machine in range(machines)]  # in order, so a heap
    chosen = [0] * len(costs)
    for job in sorted(range(len(costs)), key=lambda job: (-costs[job], job)):
        load, machine = loads[0]
        heapreplace(loads, (load + costs[job], machine))
        chosen[job] = machine
    return chosen
