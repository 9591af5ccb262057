"""Place: the device on which a check runs, the size of its work there, and how it measures time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from trainers.collectives.runners.gpu_group import backend_of_groups, make_gpu_group

Figures = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A device; on a CPU, the rehearsal, a check runs the same code on little work."""

    device: torch.device

    @property
    def is_gpu(self) -> bool:
        """Whether the figures say something about a GPU."""
        return self.device.type == "cuda"

    def size(self, on_gpu: int, on_cpu: int) -> int:
        """Return the size of the work on this kind of device."""
        return on_gpu if self.is_gpu else on_cpu

    def group(self) -> dist.ProcessGroup | None:
        """Return the group of the sums, as the engine makes it."""
        return make_gpu_group(self.device, timeout_s=60.0)

    @property
    def backend(self) -> str | None:
        """The backend of further groups."""
        return backend_of_groups(self.device.type)

    def wait(self) -> None:
        """Wait until the device has finished."""
        if self.is_gpu:
            torch.cuda.synchronize(self.device)

    def seconds(self, work: Callable[[], object], *, repeats: int = 5) -> float:
        """Return the least seconds of `work` over some repeats, after one that is not counted."""
        found = []
        for _ in range(repeats + 1):
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            found.append(time.perf_counter() - start)
        return min(found[1:])


def check_close(found: torch.Tensor, expected: torch.Tensor, *, tolerance: float, name: str) -> float:
    """Return the largest difference; raise AssertionError if it is above the tolerance."""
    difference = float((found.double() - expected.double()).abs().max()) if found.numel() else 0.0
    if not difference <= tolerance:
        raise AssertionError(f"{name}: the largest difference is {difference:g}, above {tolerance:g}")
    return difference
