"""What every step measured, told with the times of all ranks.

A collective ends on all ranks at once, so a rank that came to it early waits for the last one: with b_r what rank r was
busy (compute and input) and c_r how long it was in collectives,

    idle_r = min(c_r, max_k b_k - b_r),   communication_r = c_r - idle_r

which needs durations only, no common clock. The ranks tell each other their times about once in GATHER_S: a message a
step would cost every step a latency. When the next is due follows from the times told, so all ranks agree on it.
"""

import resource
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from contract import series
from trainers.collectives.watched import Watch
from trainers.report import Report
from trainers.stopwatch import Lap

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

    A `world` of one tells for itself: what a rank does whose others go their own ways.
    """

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
        own_S3 = torch.tensor([[lap.get(part, 0.0) for part in SPENT] for lap in laps], dtype=torch.float64)
        times_RS3 = self._gathered(own_S3.to(self._device)).cpu()
        for measured, values in zip(self._kept, split_of(times_RS3), strict=True):
            wall_s = sum(values[part] for part in series.PARTS)
            speed = {series.SAMPLES_PER_S: measured.samples / wall_s}
            self._report.points(measured.step, measured.values | speed | values)
        self._kept = []
        slowest_s = times_RS3.sum(dim=2).mean(dim=1).max().item()
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

    def _gathered(self, own_S3: Tensor) -> Tensor:
        if self._world == 1:
            return own_S3.unsqueeze(0)
        times_RS3 = own_S3.new_empty(self._world, *own_S3.shape)
        self._watch.all_gather(list(times_RS3.unbind()), own_S3)
        return times_RS3


SPENT = (series.COMPUTE_S, series.COMMUNICATION_S, series.INPUT_S)


def split_of(times_RS3: Tensor) -> list[dict[str, float]]:
    """Turn the seconds of R ranks in S steps, as in SPENT, into each step's means over ranks and its slowest rank."""
    compute_RS, collective_RS, input_RS = times_RS3.unbind(dim=2)
    busy_RS = compute_RS + input_RS
    last_S, slowest_S = busy_RS.max(dim=0)
    idle_RS = torch.minimum(collective_RS, last_S - busy_RS)
    parts = (compute_RS, collective_RS - idle_RS, input_RS, idle_RS)
    means_S4 = torch.stack([part_RS.mean(dim=0) for part_RS in parts], dim=1).tolist()
    names = (*series.PARTS, series.SLOWEST_RANK)
    return [
        dict(zip(names, (*means, rank), strict=True)) for means, rank in zip(means_S4, slowest_S.tolist(), strict=True)
    ]


def _own_peak_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
