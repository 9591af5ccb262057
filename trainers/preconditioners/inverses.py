"""Inverses: the decompositions that a rank's column holds, and the gradients that its row exchanges.

The factors of the last decomposition stay, as one flat vector that all ranks have: a checkpoint contains them, and a
world of any size decomposes them again. That costs fewer bytes than the decompositions, and the same rank of the same
world gets the same bits.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainers.preconditioners.assignment import Assignment, Factor
from trainers.preconditioners.factors import Factors
from trainers.preconditioners.group_gather import GroupGather
from trainers.preconditioners.methods import Decomposition, divide_damping, make_decomposer
from trainers.preconditioners.options import KFACOptions
from trainers.preconditioners.shapes import BlockShape
from trainers.preconditioners.words import gradient_layout, inverse_layout, size_of
from trainers.rules.call_timer import CallTimer, call_untimed


class Inverses:
    """The decompositions of one rank."""

    def __init__(
        self,
        blocks: Sequence[BlockShape],
        factors: Factors,
        assignment: Assignment,
        options: KFACOptions,
        *,
        rank: int,
        timed: CallTimer = call_untimed,
    ) -> None:
        self._blocks, self._factors, self._assignment, self._rank = blocks, factors, assignment, rank
        self._decomposer = make_decomposer(options.method)
        self._of: dict[Factor, Decomposition] = {}
        self.decomposed_F: Tensor | None = None  # the factors that the decompositions are of
        self.damping = 0.0  # at the last decomposition
        self._is_restored = False  # `decomposed_F` is known, the decompositions are not
        self._own = assignment.blocks_of(assignment.column(rank))
        of_inverses = inverse_layout(blocks, assignment, method=options.method)
        self.in_column = GroupGather(of_inverses, rank=rank, timeout_s=options.timeout_s)
        of_gradients = gradient_layout(blocks, assignment)
        self.in_row = GroupGather(of_gradients, rank=rank, timeout_s=options.timeout_s)
        self._gather_column, self._gather_row = timed(self.in_column.gather), timed(self.in_row.gather)

    @property
    def is_missing(self) -> bool:
        """Whether no factor has been decomposed yet."""
        return self.decomposed_F is None

    def update(self, damping: float) -> None:
        """Decompose the current factors; all ranks call this together."""
        self.decomposed_F, self.damping, self._is_restored = self._factors.copy_average(), damping, False
        self._decompose()

    def restore(self, decomposed_F: Tensor, damping: float) -> None:
        """Decompose these factors before the next use."""
        self.decomposed_F, self.damping, self._is_restored = decomposed_F.clone(), damping, True

    def precondition(self, grads: Sequence[Tensor | None], damping: float) -> list[Tensor]:
        """Return the preconditioned gradient of each block, on all ranks; one without a gradient gets zeros."""
        if self._is_restored:
            self._is_restored = False
            self._decompose()
        results = [grad if grad is not None else self._zeros(block) for block, grad in enumerate(grads)]
        for block in self._own:
            if grads[block] is not None:
                inputs, outputs = self._of[block, 0], self._of[block, 1]
                wide = results[block].to(self._factors.average_F.dtype)
                results[block] = self._decomposer.apply(wide, inputs, outputs, damping=damping)
        return self._exchange(results)

    def _zeros(self, block: int) -> Tensor:
        shape = self._blocks[block]
        return self._factors.average_F.new_zeros(shape.outputs, shape.inputs)

    def _exchange(self, results: list[Tensor]) -> list[Tensor]:
        """Return the results of all columns, each from the member of this rank's row."""
        if len(self._assignment.columns) == 1:
            return results
        own_W = torch.cat([self._factors.average_F.new_empty(0), *(results[block].flatten() for block in self._own)])
        for rank, words_W in self._gather_row(own_W).items():
            begin = 0
            for block in self._assignment.blocks_of(self._assignment.column(rank)):
                shape = self._blocks[block]
                part = words_W[begin : begin + shape.weights]
                results[block] = part.view(shape.outputs, shape.inputs)
                begin += shape.weights
        return results

    def _decompose(self) -> None:
        """Decompose this rank's factors, and exchange the results in its column."""
        self._of = {}
        own = [self._decompose_factor(factor) for factor in self._assignment.factors_of(self._rank)]
        own_W = torch.cat([self._factors.average_F.new_empty(0), *own])
        for rank, words_W in self._gather_column(own_W).items():
            begin = 0
            for factor in self._assignment.factors_of(rank):
                n = size_of(self._blocks[factor[0]], factor[1])
                words = self._decomposer.words(n)
                self._of[factor] = self._decomposer.read(words_W[begin : begin + words], n)
                begin += words
        for block in self._own:
            if self._blocks[block].is_diagonal:
                diagonal, damping = self._damped((block, 0))
                self._of[block, 0] = self._decomposer.of_diagonal(diagonal, damping)

    def _decompose_factor(self, factor: Factor) -> Tensor:
        return self._decomposer.decompose(*self._damped(factor))

    def _damped(self, factor: Factor) -> tuple[Tensor, float]:
        """Return a factor and its part of the damping, if the method divides it."""
        assert self.decomposed_F is not None
        block, side = factor
        one = self._factors.factor(self.decomposed_F, block, side)
        if self._decomposer.method == "eigen":
            return one, self.damping
        other = self._factors.factor(self.decomposed_F, block, 1 - side)
        return one, divide_damping(one, other, self.damping)
