"""Sums that go on beside what the caller does: in a thread of their own, or on a GPU's second stream."""

from queue import SimpleQueue
from threading import Thread

import torch
from torch import Tensor
from torch.futures import Future

from trainers.collectives.runners.allreduce import Allreduce

Outcome = Tensor | Exception  # torch's futures would turn an exception into a RuntimeError of its text


class Beside:
    """Carries out one sum after the other, in the order in which they were begun, alike on every rank.

    Nobody else may use `allreduce`, or connections of its, while a sum is under way.
    """

    def __init__(self, allreduce: Allreduce) -> None:
        self._allreduce = allreduce
        self._jobs: SimpleQueue[tuple[Tensor, Future[Outcome]]] = SimpleQueue()
        self._thread: Thread | None = None

    def begin(self, x_N: Tensor) -> Future[Outcome]:
        """Begin to sum a flat vector in place; the future is for `summed`."""
        if x_N.device.type == "cuda":
            return self._on_a_stream(x_N)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="allreduce", daemon=True)
            self._thread.start()
        future: Future[Outcome] = Future()
        self._jobs.put((x_N, future))
        return future

    def _work(self) -> None:
        while True:
            x_N, future = self._jobs.get()
            try:
                self._allreduce(x_N)
            except Exception as error:
                future.set_result(error)
            else:
                future.set_result(x_N)

    def _on_a_stream(self, x_N: Tensor) -> Future[Outcome]:
        stream = torch.cuda.Stream(x_N.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(x_N.device))
        future: Future[Outcome] = Future(devices=[x_N.device])
        with torch.cuda.stream(stream):
            self._allreduce(x_N)
            future.set_result(x_N)  # who waits for it, waits for the stream
        return future


def summed(future: Future[Outcome]) -> Tensor:
    """Wait for a sum and return it; raise what it raised."""
    outcome = future.wait()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
