"""AsyncAllreduce: sums that run while the caller continues, in a thread or on a second CUDA stream."""

from queue import SimpleQueue
from threading import Thread

import torch
from torch import Tensor
from torch.futures import Future

from trainers.collectives.runners.allreduce import Allreduce

Outcome = Tensor | Exception  # Future.set_exception would replace the exception by a RuntimeError with its text


class AsyncAllreduce:
    """Run sums one after the other, in the order of their start; the order must be the same on every rank.

    No other code may use `allreduce` or its connections while a sum is running.
    """

    def __init__(self, allreduce: Allreduce) -> None:
        self._allreduce = allreduce
        self._requests: SimpleQueue[tuple[Tensor, Future[Outcome]]] = SimpleQueue()
        self._thread: Thread | None = None

    def start(self, x_N: Tensor) -> Future[Outcome]:
        """Start to sum a flat vector in place; pass the future to `wait_for_sum`."""
        if x_N.device.type == "cuda":
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
        stream = torch.cuda.Stream(x_N.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(x_N.device))
        future: Future[Outcome] = Future(devices=[x_N.device])
        with torch.cuda.stream(stream):
            self._allreduce(x_N)
            future.set_result(x_N)  # a CUDA future makes its waiter's stream wait for this stream
        return future


def wait_for_sum(future: Future[Outcome]) -> Tensor:
    """Wait for a sum and return it; raise the exception of the sum if it failed."""
    outcome = future.wait()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
