"""What every step measured, told with the times of all ranks.

A collective ends on all ranks at once, so a rank that came to it early waits for the last one: with b_r what rank r was
busy (compute, update and input) and c_r how long it was in collectives,

    idle_r = min(c_r, max_k b_k - b_r),   communication_r = c_r - idle_r

which needs durations only, no common clock. The ranks tell each other their times about once in GATHER_S: a message a
step would cost every step a latency. When the next is due follows from the times told, so all ranks agree on it.

Where rank 0 serves a center there is no collective that would end on all at once: what a rank waits at the center is
communication. There the others' times are what they last said, as means over their steps
(trainers/progress/rank_stats.py).
"""

import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from contract import metric_names as series
from trainers.collectives.runners.timeout import Watch
from trainers.progress.rank_stats import Hearsay
from trainers.progress.reporter import Report
from trainers.progress.timer import Lap

GATHER_S = 1.0
LONGEST = 10_000  # steps between two messages


@dataclass(frozen=True)
class Measured:
    step: int
    samples: int  # of the global batch
    values: dict[str, float]
    lap: Lap


class Measures:
    """Keeps what steps measured until the ranks have told each other their times, then reports it.

    A `world` of one tells for itself: what a rank does whose others go their own ways, of whom it has `hearsay`.
    """

    hearsay: Hearsay | None = None

    def __init__(self, report: Report, *, world: int, device: torch.device, watch: Watch) -> None:
        self._report, self._world, self._device = report, world, device
        self._watch = watch
        self._kept: list[Measured] = []
        self._due = 1  # steps

    def add(self, measured: Measured) -> None:
        """Keep a step; report what is kept when it is time to."""
        self._kept.append(measured)
        if len(self._kept) >= self._due:
            self.tell()

    def tell(self) -> None:
        """Report every step that is kept; all ranks call this after the same step."""
        if not self._kept:
            return
        laps = [measured.lap.seconds() for measured in self._kept]
        own_S4 = torch.tensor([[lap.get(part, 0.0) for part in SPENT] for lap in laps], dtype=torch.float64)
        ranks, times_RS4 = self._gathered(own_S4)
        parts_RS5, slowest_S = parts_of(times_RS4, together=self._world > 1)
        for measured, values in zip(self._kept, means_of(parts_RS5, slowest_S, ranks=ranks), strict=True):
            wall_s = sum(values[part] for part in series.PARTS)
            speed = {series.SAMPLES_PER_S: measured.samples / wall_s}
            self._report.points(measured.step, measured.values | speed | values)
        means_R5 = parts_RS5.mean(dim=1).tolist()
        self._report.times(self._kept[0].step, self._kept[-1].step, dict(zip(ranks, means_R5, strict=True)))
        self._kept = []
        slowest_s = times_RS4[: self._world].sum(dim=2).mean(dim=1).max().item()
        self._due = max(1, min(LONGEST, round(GATHER_S / slowest_s)))

    def close(self) -> None:
        """Report what is kept without times: other ranks may be gone."""
        for measured in self._kept:
            self._report.points(measured.step, measured.values)
        self._kept = []

    def peak_memory_bytes(self) -> int:
        """What the rank that needed most needed at most; all ranks call this together."""
        most = torch.tensor([_own_peak_bytes(self._device)], dtype=torch.int64, device=self._device)
        if self._world > 1:
            self._watch.all_reduce(most, dist.ReduceOp.MAX)
        return int(most)

    def _gathered(self, own_S4: Tensor) -> tuple[list[int], Tensor]:
        """The ranks whose times are known, and their times."""
        if self._world > 1:
            own_S4 = own_S4.to(self._device)
            times_RS4 = own_S4.new_empty(self._world, *own_S4.shape)
            self._watch.all_gather(list(times_RS4.unbind()), own_S4)
            return list(range(self._world)), times_RS4.cpu()
        if self.hearsay is None or self.hearsay.rank:
            if self.hearsay is not None:
                self.hearsay.tell(own_S4.mean(dim=0).tolist())
            return [0], own_S4.unsqueeze(0)
        others = self.hearsay.others()
        told = [own_S4.new_tensor(means).expand_as(own_S4) for means in others.values()]
        return [0, *others], torch.stack([own_S4, *told])


SPENT = (series.COMPUTE_S, series.UPDATE_S, series.COMMUNICATION_S, series.INPUT_S)


def parts_of(times_RS4: Tensor, *, together: bool = True) -> tuple[Tensor, Tensor]:
    """Split the seconds of R ranks in S steps, as in SPENT, into those of `series.PARTS` (R, S, 5).

    The second tensor (S) is the place, among the R, of each step's slowest rank. `together`: their communication is in
    collectives that end on all of them at once.
    """
    compute_RS, update_RS, talk_RS, input_RS = times_RS4.unbind(dim=2)
    busy_RS = compute_RS + update_RS + input_RS
    last_S, slowest_S = busy_RS.max(dim=0)
    idle_RS = torch.minimum(talk_RS, last_S - busy_RS) if together else torch.zeros_like(talk_RS)
    return torch.stack([compute_RS, update_RS, talk_RS - idle_RS, input_RS, idle_RS], dim=2), slowest_S


def means_of(parts_RS5: Tensor, slowest_S: Tensor, *, ranks: Sequence[int]) -> list[dict[str, float]]:
    """Each step's means over the ranks, and its slowest rank."""
    names = (*series.PARTS, series.SLOWEST_RANK)
    means_S5 = parts_RS5.mean(dim=0).tolist()
    return [
        dict(zip(names, (*means, ranks[place]), strict=True))
        for means, place in zip(means_S5, slowest_S.tolist(), strict=True)
    ]


def _own_peak_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
