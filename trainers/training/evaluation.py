"""Evaluation: loss and accuracy on the held-out split, computed by all ranks together."""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from contract import metric_names
from trainers.collectives.exact_mean import mean_of_parts, to_parts
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.data.float_types import FloatTypes
from trainers.data.loader import Batches, Loader
from trainers.data.split import UNCHANGED, DeviceBatch, Split, to_device
from trainers.models.evaluation_mode import evaluation_mode
from trainers.models.statistics import statistics
from trainers.own_metrics import OwnMetrics
from trainers.tasks import Task
from trainers.training.evaluation_diagnosis import OutputNotFinite, SampleSearch, first_of_ranks
from trainers.training.precision import Precision


@dataclass(frozen=True)
class Evaluation:
    """Evaluates a model on the held-out split in passes of `batch` samples."""

    heldout: Split
    task: Task
    batch: int
    precision: Precision
    device: torch.device
    loader: Loader = field(default_factory=Loader)
    metrics: OwnMetrics = field(default_factory=OwnMetrics)
    watch: BackendCollectives = field(default_factory=BackendCollectives)
    channels_last: bool = False  # the layout of images and of the model's weights
    types: FloatTypes = UNCHANGED  # of the net, to which samples are converted
    part: tuple[int, int] | None = None  # this rank's part of the samples, and their number; None: by ranks
    measures: Callable[[float], dict[str, float]] | None = None  # of the held-out loss, in other units
    _ahead: list[Batches] = field(default_factory=list)  # the batches of the next evaluation, if they are loaded ahead

    def load_ahead(self, *, alone: bool = False) -> None:
        """Begin to load the first batches of the next evaluation, which has the same `alone`."""
        if self.loader.loads_ahead and not self._ahead:
            self._ahead.append(self._open(alone=alone))
            self._ahead[0].fill()

    def __call__(self, model: nn.Module, *, alone: bool = False) -> dict[str, float]:
        """Return the held-out loss, the accuracy of classes, and the user's metrics.

        Raise OutputNotFinite on all ranks if the loss or a metric is not finite.
        All ranks call this together with the same model.
        `alone`: this rank evaluates all samples, and the other ranks do not take part.
        """
        if not alone:
            average_statistics(model, self.watch)
        with evaluation_mode(model):
            return self._measure(model, alone=alone)

    @torch.no_grad()
    def _measure(self, model: nn.Module, *, alone: bool) -> dict[str, float]:
        """Return the means over all held-out samples; rank r of n takes samples r, r + n, r + 2n, ..."""
        own = len(self.metrics.names)
        # the task's loss, correct answers and count; the user's metrics and their count, if there are any
        sums_N = torch.zeros(3 + own + (own > 0), dtype=torch.float64, device=self.device)
        with closing(self._ahead.pop() if self._ahead else self._open(alone=alone)) as batches:
            for made in batches:
                inputs, target = to_device(
                    made, self.heldout, self.device, channels_last=self.channels_last, types=self.types
                )
                with self.precision.passes():
                    output = model(*inputs)
                sums_N[:3] += self.task.tally(output, target)
                sums_N[3:] += self.metrics.tally(output, target)
        if not alone:
            self.watch.all_reduce(sums_N)
        loss, right, count, *own_sums = sums_N.tolist()
        if not all(map(math.isfinite, (loss, *own_sums))):
            self._explain(model, alone=alone)
        accuracy = {} if math.isnan(right) else {metric_names.HELDOUT_ACCURACY: right / count}
        measured = self.measures(loss / count) if self.measures else {}
        return {metric_names.HELDOUT_LOSS: loss / count} | accuracy | measured | self.metrics.means(own_sums)

    def _explain(self, model: nn.Module, *, alone: bool) -> None:
        """Raise OutputNotFinite with the first sample because of which a measure is not finite."""
        parts = self._parts(alone=alone)
        search = SampleSearch(model, self.task, self.metrics, self.precision, by_sample=self.part is None)
        with closing(self.loader.batches(self.heldout, parts)) as batches:
            on_device = (
                to_device(made, self.heldout, self.device, channels_last=self.channels_last, types=self.types)
                for made in batches
            )
            own = search.find(zip(parts, on_device, strict=True))
        raise OutputNotFinite(first_of_ranks(own, alone=alone))

    def _open(self, *, alone: bool) -> Batches:
        return self.loader.batches(self.heldout, self._parts(alone=alone))

    def _parts(self, *, alone: bool) -> Sequence[Tensor]:
        """Return the numbers of this rank's samples in each pass."""
        rank, world = (0, 1) if alone else self.part or (dist.get_rank(), dist.get_world_size())
        mine_N = torch.arange(len(self.heldout))[rank::world]
        return torch.split(mine_N, self.batch) if len(mine_N) else ()  # with fewer samples than ranks some have none


@torch.no_grad()
def average_statistics(model: nn.Module, watch: BackendCollectives) -> None:
    """Average the statistics of normalization over the ranks, because each rank saw different images.

    Training does not read them, so this does not change training; those that are equal on all ranks stay equal to the
    bit. Akiba, Suzuki & Fukuda (2017) average those of the last batch alone: with a large batch these are better
    estimates than a moving average over older weights.
    """
    averaged = list(statistics(model).values())
    if not averaged:
        return
    sum_2N = torch.cat([to_parts(buffer.flatten()) for buffer in averaged], dim=1)
    watch.all_reduce(sum_2N)
    means = torch.split(mean_of_parts(sum_2N, dist.get_world_size()), [buffer.numel() for buffer in averaged])
    for buffer, mean in zip(averaged, means, strict=True):
        buffer.copy_(mean.view_as(buffer))


@torch.no_grad()
def recalibrate(model: nn.Module, batches: Iterable[DeviceBatch]) -> None:
    """Compute batch normalization's means and variances anew, as plain means over `batches`.

    Averaged weights need this, because no batch was processed with them (Izmailov et al., 2018, section 3.2). A layer
    in evaluation mode stays as it is: the user has fixed its statistics.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    norms = [norm for norm in layers if norm.track_running_stats and norm.training]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # None makes torch compute a cumulative mean
        for inputs, _ in batches:
            model(*inputs)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
