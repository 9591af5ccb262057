"""A user's metrics of the held-out samples."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

Metric = Callable[[Any, Tensor], Any]  # output and target of a batch -> the mean over its samples


class OwnMetrics:
    """Functions of output and target by their names; each returns the mean over the samples of a batch."""

    def __init__(self, metrics: Mapping[str, Metric] | None = None) -> None:
        self._metrics = dict(metrics or {})

    @property
    def names(self) -> list[str]:
        """The names of the series."""
        return list(self._metrics)

    def tally(self, output: Any, target: Tensor) -> Tensor:
        """Return each metric times the number of samples, and this number, as float64; nothing without metrics."""
        if not self._metrics:
            return torch.zeros(0, dtype=torch.float64, device=target.device)
        count = len(target)
        values = [count * _number(name, metric(output, target)) for name, metric in self._metrics.items()]
        return torch.tensor([*values, count], dtype=torch.float64, device=target.device)

    def means(self, sums: list[float]) -> dict[str, float]:
        """Return the mean of each metric over all samples from the sums of their tallies."""
        return {name: total / sums[-1] for name, total in zip(self._metrics, sums[:-1], strict=True)} if sums else {}


def _number(name: str, value: Any) -> float:
    """Return a metric's value as a number; raise TypeError if it is not one number."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise TypeError(f"the metric {name} returned a tensor of shape {list(value.shape)}, not one number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"the metric {name} returned a {type(value).__name__}, not a number") from None
