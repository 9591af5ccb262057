"""The numbers ("words") that K-FAC sends, and its floating-point operations. This module loads no torch.

    update of the factors      the sum over all ranks of sum_l [a_l (a_l + 1) + g_l (g_l + 1)] / 2 numbers
    update of the inverses     the decompositions of a column pass through a ring of its g ranks
    every step                 the preconditioned gradients of a row pass through a ring of its m ranks

a_l and g_l are the sizes of both factors of layer l; an eigendecomposition has n^2 + n numbers, a symmetric inverse
n (n + 1) / 2. In a ring a rank sends all numbers but those of the next rank, rounded up to the unit of the layout
(gather_layout.py). With f = 1 there is one column, and with it no message at a step without an update.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainers.preconditioners.assignment import Assignment
from trainers.preconditioners.gather_layout import GatherLayout, lay_out
from trainers.preconditioners.shapes import BlockShape, half, total_factor_words

EIGEN_FLOPS = 9  # times n^3: reduction to tridiagonal form 4/3, its eigenvectors by divide and conquer, the product
INVERSE_FLOPS = 1  # times n^3: Cholesky's factor and the inverse from it


@dataclass(frozen=True)
class Words:
    """The numbers of each kind of exchange, of the rank that sends the most; without a gradient's all-reduce."""

    factors: int  # of the vector that all ranks sum
    inverses: int  # that a rank sends at an update of the inverses
    gradients: int  # that a rank sends at every step


def count_words(blocks: Sequence[BlockShape], assignment: Assignment, *, method: str) -> Words:
    """Return the numbers that are sent."""
    ranks = range(sum(map(len, assignment.columns)))
    of_inverses = inverse_layout(blocks, assignment, method=method)
    of_gradients = gradient_layout(blocks, assignment)
    inverses, gradients = (max(map(layout.sent_words, ranks)) for layout in (of_inverses, of_gradients))
    return Words(total_factor_words(blocks), inverses, gradients)


def inverse_layout(blocks: Sequence[BlockShape], assignment: Assignment, *, method: str) -> GatherLayout:
    """Return the layout of the exchange of decompositions in the columns."""
    words = [0] * sum(map(len, assignment.columns))
    for (number, side), worker in assignment.worker_of.items():
        words[worker] += inverse_words(size_of(blocks[number], side), method=method)
    return lay_out(assignment.columns, words)


def gradient_layout(blocks: Sequence[BlockShape], assignment: Assignment) -> GatherLayout:
    """Return the layout of the exchange of preconditioned gradients in the rows."""
    of_column = [gradient_words(blocks, assignment, column) for column in range(len(assignment.columns))]
    ranks = range(sum(map(len, assignment.columns)))
    return lay_out(assignment.rows, [of_column[assignment.column(rank)] for rank in ranks])


def inverse_words(n: int, *, method: str) -> int:
    """Return the numbers of the decomposition of an n x n factor."""
    return n * n + n if method == "eigen" else half(n)


def held_words(blocks: Sequence[BlockShape], assignment: Assignment, *, method: str) -> int:
    """Return the numbers of the decompositions that a rank stores, of the column with the most."""
    values = 1 if method == "eigen" else 0
    loads = [0] * len(assignment.columns)
    for block, column in zip(blocks, assignment.column_of, strict=True):
        loads[column] += block.inputs if block.is_diagonal else block.inputs * (block.inputs + values)
        loads[column] += block.outputs * (block.outputs + values)
    return max(loads)


def gradient_words(blocks: Sequence[BlockShape], assignment: Assignment, column: int) -> int:
    """Return the numbers of the gradients that a column preconditions."""
    return sum(blocks[number].weights for number in assignment.blocks_of(column))


def size_of(block: BlockShape, side: int) -> int:
    """Return the size of a factor: side 0 is the inputs, side 1 the outputs."""
    return block.outputs if side else block.inputs


def decomposition_flops(blocks: Sequence[BlockShape], assignment: Assignment, *, method: str) -> float:
    """Return the operations of the busiest rank at an update of the inverses."""
    per_n3 = EIGEN_FLOPS if method == "eigen" else INVERSE_FLOPS
    loads: dict[int, int] = {}
    for (number, side), worker in assignment.worker_of.items():
        loads[worker] = loads.get(worker, 0) + blocks[number].costs[side]
    return float(per_n3 * max(loads.values(), default=0))


def precondition_flops(blocks: Sequence[BlockShape], *, method: str) -> float:
    """Return the operations of one step's preconditioning of these blocks: two or four products of matrices."""
    both = 2 if method == "eigen" else 1
    return float(
        sum(
            both * 2 * block.weights * (block.outputs + (0 if block.is_diagonal else block.inputs)) + 4 * block.weights
            for block in blocks
        )
    )
