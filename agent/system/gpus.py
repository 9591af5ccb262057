"""What NVIDIA's driver says of the GPUs, by the package nvidia-ml-py where the job's Python has it."""

from __future__ import annotations

import importlib
from typing import Any


class Gpus:
    """The GPUs of this node; none where there is no driver or no package."""

    def __init__(self, nvml: Any = None) -> None:
        """`nvml` is the module; without it the installed one."""
        self._nvml = nvml
        self._handles: list[Any] = []
        try:
            if self._nvml is None:
                self._nvml = importlib.import_module("pynvml")
            self._nvml.nvmlInit()
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(number) for number in range(count)]
        except Exception:  # no package, no driver, or a driver of another version: all of them mean no figures
            self._handles = []

    def read(self) -> dict[str, float]:
        """Return the busy share, the used bytes and the watts of each GPU; a GPU without an answer is left out."""
        found: dict[str, float] = {}
        for number, handle in enumerate(self._handles):
            try:
                own = {
                    "busy": self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
                    "memory_bytes": float(self._nvml.nvmlDeviceGetMemoryInfo(handle).used),
                    "watts": self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
                }
            except Exception:  # NVML raises errors of its own module, which may be absent
                continue
            found.update({f"gpu-{number}/{name}": value for name, value in own.items()})
        return found
