"""AsyncAllreduce: sums that run while the caller continues, in a thread or on a second stream of the GPU."""

from queue import SimpleQueue
from threading import Thread

import torch
from torch import Tensor
from torch.futures import Future

from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.side_stream import SideStream

Outcome = Tensor | Exception  # Future.set_exception would replace the exception by a RuntimeError with its text


def runs_on_stream(device_type: str) -> bool:
    """Return whether sums of this type of device run on a stream: a thread of its own would have the default stream."""
    return device_type != "cpu"


class AsyncAllreduce:
    """Run sums one after the other, in the order of their start; the order must be the same on every rank.

    No other code may use `allreduce` or its connections while a sum is running. `side`: the stream of the sums on a
    GPU, for a caller that has more work for it.
    """

    def __init__(self, allreduce: Allreduce, *, side: SideStream | None = None) -> None:
        self._allreduce, self._side = allreduce, side or SideStream()
        self._requests: SimpleQueue[tuple[Tensor, Future[Outcome]]] = SimpleQueue()
        self._thread: Thread | None = None

    def start(self, x_N: Tensor) -> Future[Outcome]:
        """Start to sum a flat vector in place; pass the future to `wait_for_sum`."""
        if runs_on_stream(x_N.device.type):
            return self._start_on_stream(x_N)
        if self._thread is None:
            self._thread = Thread(target=self._run, name="allreduce", daemon=True)
            self._thread.start()
        future: Future[Outcome] = Future()
        self._requests.put((x_N, future))
        return future

    def _run(self) -> None:
        while True:
            x_N, future = self._requests.get()
            try:
                self._allreduce(x_N)
            except Exception as error:
                future.set_result(error)
            else:
                future.set_result(x_N)

    def _start_on_stream(self, x_N: Tensor) -> Future[Outcome]:
        future: Future[Outcome] = _future_of(x_N.device)
        with self._side.after_current(x_N.device):
            self._allreduce(x_N)
            future.set_result(x_N)  # the future of a GPU makes its waiter's stream wait for this stream
        return future


def wait_for_sum(future: Future[Outcome]) -> Tensor:
    """Wait for a sum and return it; raise the exception of the sum if it failed."""
    outcome = future.wait()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _future_of(device: torch.device) -> Future[Outcome]:
    return Future() if device.type == "cpu" else Future(devices=[device])
