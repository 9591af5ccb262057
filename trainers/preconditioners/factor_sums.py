"""FactorSums: sum the factors of a step over all ranks by the run's all-reduce, those of the inputs beside backward."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.futures import Future

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.async_allreduce import Outcome, wait_for_sum
from trainers.preconditioners.capture import Capture
from trainers.preconditioners.factors import Factors
from trainers.preconditioners.layers import PreconditionedLayer

StartSum = Callable[[Tensor], Future[Outcome]]


class FactorSums:
    """The message of one step; every number is divided by the world before the sum."""

    def __init__(self, capture: Capture, factors: Factors, layers: list[PreconditionedLayer], *, world: int) -> None:
        self._capture, self._factors, self._world = capture, factors, world
        self._counts = [len(layer.blocks) for layer in layers]
        self._inputs_f: Tensor | None = None
        self._outputs_f = torch.empty(0)
        self._begun: Future[Outcome] | None = None
        self._is_complete = False

    def begin(self, start: StartSum | None) -> None:
        """Fill in the factors of the inputs, which are complete, and start their sum if there is a `start`."""
        self._inputs_f, self._outputs_f = self._factors.make_message()
        self._fill(self._inputs_f, 0, self._capture.input_factors())
        self._begun = None if start is None else start(self._inputs_f)

    def finish(self, allreduce: Allreduce | None) -> None:
        """Fill in the factors of the outputs, and finish all sums; None: this rank is alone."""
        if self._inputs_f is None:
            self.begin(None)
        assert self._inputs_f is not None
        self._fill(self._outputs_f, 1, self._capture.output_factors())
        if allreduce is not None and self._begun is None:
            allreduce(self._whole())
        elif allreduce is not None:
            self.wait()
            allreduce(self._outputs_f)
        self._is_complete = True

    def wait(self) -> None:
        """Wait for the sum of the inputs' factors: no other sum may run beside it outside of its queue."""
        if self._begun is not None:
            wait_for_sum(self._begun)

    def take(self) -> Tensor:
        """Return the means over the ranks as one vector, and be ready for the next step."""
        if not self._is_complete:
            self.finish(None)
        whole_F = self._whole()
        self.clear()
        return whole_F

    def clear(self) -> None:
        """Forget the message, for example of a step that is skipped."""
        self._inputs_f, self._begun, self._is_complete = None, None, False
        self._capture.clear()

    def _whole(self) -> Tensor:
        whole_F = self._outputs_f._base
        assert whole_F is not None
        return whole_F

    def _fill(self, part_f: Tensor, side: int, of_layers: list[Tensor | None]) -> None:
        pairs = zip(of_layers, self._counts, strict=True)
        of_blocks = [None if sums is None else sums[block] for sums, count in pairs for block in range(count)]
        self._factors.fill(part_f, side, of_blocks, share=1 / self._world)
