"""StepMetrics: the metrics of every step, reported together with the step times of all ranks.

A collective ends on all ranks at once, so a rank that enters it early waits for the last rank. With b_r the busy time
of rank r (compute, update and input) and c_r its time in collectives,

    idle_r = min(c_r, max_k b_k - b_r),   communication_r = c_r - idle_r

which needs durations only, no common clock. The ranks exchange their times about once per GATHER_S, because a message
per step would cost every step a latency. The exchanged times determine the next exchange, so all ranks agree on it.

A run with K-FAC also reports details that the parts contain (`metric_names.TIME_DETAILS`): the timer measures them by
their own names, and they are added to their parts here.

If rank 0 serves a center, no collective ends on all ranks at once: the wait for the center counts as communication.
Then the times of the other ranks are the means over steps that they last published (trainers/progress/rank_stats.py).
"""

import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from contract import metric_names
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.progress.rank_stats import RankStats
from trainers.progress.reporter import Reporter
from trainers.progress.timer import StepTiming

GATHER_S = 1.0
MAX_STEPS = 10_000  # between two exchanges


@dataclass(frozen=True)
class StepMeasurement:
    """The metrics and the timing of one step."""

    step: int
    samples: int  # of the global batch
    values: dict[str, float]
    timing: StepTiming


class StepMetrics:
    """Collects the measurements of steps until the ranks exchange their times, then reports them.

    `world` is 1 if the ranks share no collective; then `rank_stats` has the times of the other ranks. `has_details`:
    report the details of the parts too.
    """

    rank_stats: RankStats | None = None

    def __init__(
        self,
        report: Reporter,
        *,
        world: int,
        device: torch.device,
        watch: BackendCollectives,
        has_details: bool = False,
    ) -> None:
        self._details = list(metric_names.TIME_DETAILS) if has_details else []
        self._report, self._world, self._device = report, world, device
        self._watch = watch
        self._pending: list[StepMeasurement] = []
        self._due = 1  # steps
        # a GPU still computes the newest step: to read its times would wait for it, and the GPU would then idle
        self._unfinished = 1 if device.type == "cuda" else 0

    def add(self, measured: StepMeasurement) -> None:
        """Add a step; if an exchange is due, report the pending steps, on a GPU without the newest."""
        self._pending.append(measured)
        finished = len(self._pending) - self._unfinished
        if finished >= self._due:
            self._report_steps(finished)

    def flush(self) -> None:
        """Report every pending step; all ranks call this after the same step."""
        if self._pending:
            self._report_steps(len(self._pending))

    def _report_steps(self, count: int) -> None:
        """Report the oldest `count` pending steps."""
        pending, self._pending = self._pending[:count], self._pending[count:]
        seconds = [measured.timing.seconds() for measured in pending]
        own_SP = torch.tensor([times_of(of, self._details) for of in seconds], dtype=torch.float64)
        ranks, times_RSP = self._gather(own_SP)
        times_RS4, details_SD = (
            times_RSP[:, :, : len(MEASURED_PARTS)],
            times_RSP[:, :, len(MEASURED_PARTS) :].mean(dim=0),
        )
        parts_RS5, slowest_S = split_times(times_RS4, together=self._world > 1)
        means = mean_times(parts_RS5, slowest_S, ranks=ranks)
        for measured, values, details in zip(pending, means, details_SD.tolist(), strict=True):
            wall_s = sum(values[part] for part in metric_names.TIME_PARTS)
            speed = {metric_names.SAMPLES_PER_S: measured.samples / wall_s}
            values |= dict(zip(self._details, details, strict=True))
            self._report.points(measured.step, measured.values | speed | values)
        means_R5 = parts_RS5.mean(dim=1).tolist()
        self._report.times(pending[0].step, pending[-1].step, dict(zip(ranks, means_R5, strict=True)))
        slowest_s = times_RS4[: self._world].sum(dim=2).mean(dim=1).max().item()
        self._due = max(1, min(MAX_STEPS, round(GATHER_S / slowest_s)))

    def close(self) -> None:
        """Report the pending steps without times, because other ranks may have exited."""
        for measured in self._pending:
            self._report.points(measured.step, measured.values)
        self._pending = []

    def peak_memory_bytes(self) -> int:
        """Return the largest peak memory of any rank, in bytes; all ranks call this together."""
        most = torch.tensor([_own_peak_bytes(self._device)], dtype=torch.int64, device=self._device)
        if self._world > 1:
            self._watch.all_reduce(most, dist.ReduceOp.MAX)
        return int(most)

    def _gather(self, own_S4: Tensor) -> tuple[list[int], Tensor]:
        """Return the ranks whose times are known, and their times (R, S, 4)."""
        if self._world > 1:
            times_RS4 = own_S4.new_empty(self._world, *own_S4.shape)  # in the host's memory: no wait for a GPU
            self._watch.all_gather(list(times_RS4.unbind()), own_S4)
            return list(range(self._world)), times_RS4
        if self.rank_stats is None or self.rank_stats.rank:
            if self.rank_stats is not None:
                self.rank_stats.publish(own_S4.mean(dim=0).tolist())
            return [0], own_S4.unsqueeze(0)
        others = self.rank_stats.read_others()
        others_S4 = [own_S4.new_tensor(means).expand_as(own_S4) for means in others.values()]
        return [0, *others], torch.stack([own_S4, *others_S4])


def times_of(seconds: dict[str, float], details: Sequence[str]) -> list[float]:
    """Return one step's times by MEASURED_PARTS, to which the details are added, and then those of the details."""
    parts = {part: seconds.get(part, 0.0) for part in MEASURED_PARTS}
    for detail in details:
        parts[metric_names.TIME_DETAILS[detail]] += seconds.get(detail, 0.0)
    return [*parts.values(), *(seconds.get(detail, 0.0) for detail in details)]


MEASURED_PARTS = (metric_names.COMPUTE_S, metric_names.UPDATE_S, metric_names.COMMUNICATION_S, metric_names.INPUT_S)


def split_times(times_RS4: Tensor, *, together: bool = True) -> tuple[Tensor, Tensor]:
    """Split the seconds of R ranks in S steps by MEASURED_PARTS (R, S, 4) into `metric_names.TIME_PARTS` (R, S, 5).

    The second tensor (S) is the index, among the R, of each step's slowest rank. `together`: the ranks' communication
    is in collectives that end on all ranks at once.
    """
    compute_RS, update_RS, collective_RS, input_RS = times_RS4.unbind(dim=2)
    busy_RS = compute_RS + update_RS + input_RS
    last_S, slowest_S = busy_RS.max(dim=0)
    idle_RS = torch.minimum(collective_RS, last_S - busy_RS) if together else torch.zeros_like(collective_RS)
    return torch.stack([compute_RS, update_RS, collective_RS - idle_RS, input_RS, idle_RS], dim=2), slowest_S


def mean_times(parts_RS5: Tensor, slowest_S: Tensor, *, ranks: Sequence[int]) -> list[dict[str, float]]:
    """Return each step's means over the ranks, and its slowest rank."""
    names = (*metric_names.TIME_PARTS, metric_names.SLOWEST_RANK)
    means_S5 = parts_RS5.mean(dim=0).tolist()
    return [
        dict(zip(names, (*means, ranks[index]), strict=True))
        for means, index in zip(means_S5, slowest_S.tolist(), strict=True)
    ]


def _own_peak_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
