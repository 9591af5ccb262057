"""Sums that go on beside what the caller does: in a thread of their own, or on a GPU's second stream."""

from queue import SimpleQueue
from threading import Thread

import torch
from torch import Tensor
from torch.futures import Future

from trainers.collectives.runner import Allreduce

Job = tuple[Tensor, Future[Tensor | Exception]]


class Beside:
    """Carries out one sum after the other, in the order in which they were begun, alike on every rank.

    Nobody else may use `allreduce`, or connections of its, while a sum is under way.
    """

    def __init__(self, allreduce: Allreduce) -> None:
        self._allreduce = allreduce
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._thread: Thread | None = None

    def begin(self, x_N: Tensor) -> Future[Tensor]:
        """Begin to sum a flat vector in place; to wait for the future raises what the sum raised."""
        if x_N.device.type == "cuda":
            return self._on_a_stream(x_N)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="allreduce", daemon=True)
            self._thread.start()
        future: Future[Tensor | Exception] = Future()
        self._jobs.put((x_N, future))
        return future.then(_unwrapped)

    def _work(self) -> None:
        while True:
            x_N, future = self._jobs.get()
            try:
                self._allreduce(x_N)
            except Exception as error:
                future.set_result(error)
            else:
                future.set_result(x_N)

    def _on_a_stream(self, x_N: Tensor) -> Future[Tensor]:
        stream = torch.cuda.Stream(x_N.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(x_N.device))
        future: Future[Tensor] = Future(devices=[x_N.device])
        with torch.cuda.stream(stream):
            self._allreduce(x_N)
            future.set_result(x_N)  # who waits for it, waits for the stream
        return future


def _unwrapped(future: Future[Tensor | Exception]) -> Tensor:
    # an exception that is set on a future reaches backward as "unable to cast to Tensor", one that is raised as it is
    result = future.value()
    if isinstance(result, Exception):
        raise result
    return result
