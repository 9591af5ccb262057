"""SideStream: one stream of a GPU beside the stream of the passes, and what is read from the GPU without a wait.

A GPU computes after the host's call has returned. `device_streams` is torch's module of the device's type: torch.cuda,
or on CPUs torch.cpu, whose streams and events do nothing because a CPU's call returns with the result.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


def device_streams(device: torch.device) -> Any:
    """Return torch's module with the streams and events of a device."""
    return torch.get_device_module(device)


class SideStream:
    """The stream is made at the first use and kept: a new one for each use would keep its own pool of memory."""

    def __init__(self) -> None:
        self._stream: Any = None

    @contextmanager
    def after_current(self, device: torch.device) -> Iterator[None]:
        """Run what is inside on the side stream, after all that the current stream was given before."""
        streams = device_streams(device)
        if self._stream is None:
            self._stream = streams.Stream() if device.type == "cpu" else streams.Stream(device)
        self._stream.wait_stream(streams.current_stream(device))
        with streams.stream(self._stream):
            yield


class HostCopy:
    """A copy of a few numbers in the host's memory. `read` waits for the copy, not for what the GPU was given later."""

    def __init__(self) -> None:
        self._host_N = torch.empty(0)
        self._event: Any = None

    def begin(self, values_N: Tensor) -> None:
        """Begin to copy, on the current stream."""
        streams = device_streams(values_N.device)
        if self._host_N.shape != values_N.shape or self._host_N.dtype != values_N.dtype:
            # only into pinned memory a GPU copies while the host goes on
            is_gpu = values_N.device.type != "cpu"
            self._host_N = torch.empty(values_N.shape, dtype=values_N.dtype, pin_memory=is_gpu)
            self._event = streams.Event()
        self._host_N.copy_(values_N.detach(), non_blocking=True)
        self._event.record()

    def read(self) -> Tensor:
        """Wait for the copy and return it; it is valid until the next `begin`."""
        self._event.synchronize()
        return self._host_N
