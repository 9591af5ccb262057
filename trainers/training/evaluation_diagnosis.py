"""Find the first held-out sample because of which the loss or a metric of an evaluation is not finite.

The evaluation itself reads the sums over all samples alone, so that the host does not wait for a GPU after each batch.
The search is a second pass over the samples. Outputs of -inf are sound where the loss is finite: a net may exclude
classes so.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trainers.collectives.json_exchange import gather_json
from trainers.data.split import DeviceBatch
from trainers.own_metrics import OwnMetrics
from trainers.tasks import Task
from trainers.training.precision import Precision

Found = tuple[int, str]  # the number of a sample, and what is not finite


class OutputNotFinite(ArithmeticError):
    """The loss or a metric of the held-out samples is not finite; the message says of which sample."""


@dataclass(frozen=True)
class SampleSearch:
    """Searches the samples of one rank; `by_sample`: the outputs of a batch can be cut into samples."""

    model: nn.Module
    task: Task
    metrics: OwnMetrics
    precision: Precision
    by_sample: bool = True

    @torch.no_grad()
    def find(self, batches: Iterable[tuple[Tensor, DeviceBatch]]) -> Found | None:
        """Return the first sample with a measure that is not finite; each batch comes with the numbers of its samples.

        All batches are processed, because the ranks of a replica that share a net compute each of them together.
        """
        found = [self._find_in_batch(numbers_B, *batch) for numbers_B, batch in batches]
        return min((of_batch for of_batch in found if of_batch is not None), default=None)

    def _find_in_batch(self, numbers_B: Tensor, inputs: tuple[Tensor, ...], target: Tensor) -> Found | None:
        with self.precision.passes():
            output = self.model(*inputs)
        name = next((name for name, value in self._measures(output, target) if not math.isfinite(value)), None)
        if name is None:
            return None
        for index in range(len(target)) if self.by_sample and _can_be_cut(output) else ():
            of_one = _cut(output, index), target[index : index + 1]
            if not math.isfinite(value := self._measure(name, *of_one)):
                number, own_inputs = int(numbers_B[index]), [part[index : index + 1] for part in inputs]
                what = f"{name} is {value} for sample {number} of the held-out set"
                return number, f"{what}: {_kinds(own_inputs, *of_one)}"
        numbers = f"samples {int(numbers_B[0])} to {int(numbers_B[-1])}"
        what = f"{name} is {self._measure(name, output, target)} for {numbers} of the held-out set"
        return int(numbers_B[0]), f"{what}: {_kinds(inputs, output, target)}"

    def _measures(self, output: Any, target: Tensor) -> list[tuple[str, float]]:
        """Return the loss and the metrics of some samples by their names in words."""
        own = self.metrics.tally(output, target).tolist()
        metrics = [(f"the metric {name}", value) for name, value in zip(self.metrics.names, own, strict=False)]
        return [("the held-out loss", self.task.tally(output, target)[0].item()), *metrics]

    def _measure(self, name: str, output: Any, target: Tensor) -> float:
        """Return one measure of some samples; 0 if a user's metric has no value for so few of them."""
        try:
            return dict(self._measures(output, target))[name]
        except Exception:
            return 0.0


def first_of_ranks(own: Found | None, *, alone: bool) -> str:
    """Return what the rank with the first sample has found; all ranks call this together, unless one is `alone`."""
    found = [own] if alone else gather_json(own)
    _, text = min((of_rank for of_rank in found if of_rank), default=(0, ""))
    return text or "the held-out loss or a metric is not finite, and in a second pass over the samples all are finite"


def _kinds(inputs: Iterable[Tensor], output: Any, target: Tensor) -> str:
    """Describe which of a sample's data are finite."""
    kinds = f"its output is {_kind(_tensors(output))}, its input is {_kind(inputs)}"
    return kinds if bool(target.isfinite().all()) else f"{kinds}, its target is {_kind([target])}"


def _kind(tensors: Iterable[Tensor]) -> str:
    each = list(tensors)
    if any(bool(x.isnan().any()) for x in each):
        return "nan"
    return "infinite" if any(bool(x.isinf().any()) for x in each) else "finite"


def _can_be_cut(output: Any) -> bool:
    kind = type(output)
    if kind in (list, tuple, dict):
        return all(map(_can_be_cut, output.values() if kind is dict else output))
    return kind is Tensor and output.dim() > 0


def _cut(output: Any, index: int) -> Any:
    """Return one sample's part of a batch's output."""
    if isinstance(output, Tensor):
        return output[index : index + 1]
    if isinstance(output, dict):
        return {name: _cut(part, index) for name, part in output.items()}
    return type(output)([_cut(part, index) for part in output])


def _tensors(output: Any) -> Iterator[Tensor]:
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, dict | list | tuple):
        for part in output.values() if isinstance(output, dict) else output:
            yield from _tensors(part)
