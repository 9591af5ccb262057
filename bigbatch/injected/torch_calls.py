"""Wrap the functions of torch by which a training communicates, reads its batches and updates its weights.

DistributedDataParallel starts its all-reduces in C++ during the backward pass, and waits for them in a callback at the
end of the pass. Autograd runs such callbacks in the order in which they were queued. So a callback that the first
gradient of a pass queues runs after all computation and before that wait: the time from there to the end of the pass is
the communication that does not overlap with computation. FSDP waits for its last reduce-scatters at the same place.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from bigbatch.injected.parts import COMMUNICATION_S, INPUT_S, UPDATE_S
from bigbatch.injected.progress import Progress
from bigbatch.injected.step_timer import StepTimer

COLLECTIVES = (
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "_all_gather_base",
    "_broadcast_coalesced",  # of DistributedDataParallel: the buffers before the forward pass
    "_reduce_scatter_base",
)
END_OF_BACKWARD = "all_reduce of gradients at the end of the backward pass"


class TorchCalls:
    """The wrapped functions of torch; `began` is called when training begins, with the module."""

    def __init__(self, timer: StepTimer, progress: Progress, began: Callable[[], None]) -> None:
        self._timer, self._progress, self._began = timer, progress, began
        self._leader: weakref.ref[Any] | None = None  # the optimizer whose steps count
        self._updates: list[tuple[int, str | None]] = []  # that have not ended

    def wrap(self, torch: ModuleType) -> None:
        """Wrap the functions; what this version of torch lacks is left out."""
        for wrap in (self._wrap_collectives, self._wrap_loader, self._wrap_backward, self._wrap_optimizers):
            with suppress(Exception):
                wrap(torch)

    def _wrap_collectives(self, torch: ModuleType) -> None:
        distributed = torch.distributed
        if not distributed.is_available():
            return
        modules = (distributed, distributed.distributed_c10d)
        for name in COLLECTIVES:
            original = getattr(distributed, name, None)
            if original is None:
                continue
            wrapped = self._timed(original, name)
            for module in modules:
                if getattr(module, name, None) is original:
                    setattr(module, name, wrapped)
        work = distributed.distributed_c10d.Work
        work.wait = self._timed(work.wait, "wait for a collective")
        start = distributed.init_process_group
        for module in modules:
            module.init_process_group = self._then_begin(start)

    def _timed(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        timer, progress = self._timer, self._progress

        @functools.wraps(call)
        def timed(*args: Any, **kwargs: Any) -> Any:
            before, has_begun = timer.enter(COMMUNICATION_S), progress.begin(name)
            try:
                return call(*args, **kwargs)
            finally:
                if has_begun:
                    progress.end()
                timer.leave(before)

        return timed

    def _then_begin(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def begin(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            self._began()
            return result

        return begin

    def _wrap_loader(self, torch: ModuleType) -> None:
        loader: Any = import_module("torch.utils.data.dataloader")
        iterator, timer, progress = loader._BaseDataLoaderIter, self._timer, self._progress
        read = iterator.__next__

        @functools.wraps(read)
        def timed(batches: Any) -> Any:
            before = timer.enter(INPUT_S)
            try:
                return read(batches)
            finally:
                progress.batches += 1
                timer.leave(before)

        iterator.__next__ = timed

    def _wrap_backward(self, torch: ModuleType) -> None:
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            end = _BackwardEnd(torch, self._timer, self._progress)
            end.watch(tensors)
            try:
                return original(tensors, *args, **kwargs)
            finally:
                end.leave()

        torch.autograd.backward = backward

    def _wrap_optimizers(self, torch: ModuleType) -> None:
        optimizer: Any = import_module("torch.optim.optimizer")  # torch.optim has no attribute of this name
        optimizer.register_optimizer_step_pre_hook(self._begin_update)
        optimizer.register_optimizer_step_post_hook(functools.partial(self._end_update, torch))

    def _begin_update(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        with suppress(Exception):
            if self._leader is None or self._leader() is None:
                self._leader = weakref.ref(optimizer)
                self._began()
            self._updates.append((id(optimizer), self._timer.enter(UPDATE_S)))

    def _end_update(self, torch: Any, optimizer: Any, args: Any, kwargs: Any) -> None:
        with suppress(Exception):
            while self._updates:  # an update that raised an error did not end
                of, before = self._updates.pop()
                self._timer.leave(before)
                if of == id(optimizer):
                    break
            if self._leader is not None and self._leader() is optimizer:
                self._progress.end_step()
                self._timer.end_step(torch.cuda if _is_on_gpu(optimizer) else None)


class _BackwardEnd:
    """The end of one backward pass: the time after all computation, until the pass returns."""

    def __init__(self, torch: Any, timer: StepTimer, progress: Progress) -> None:
        self._torch, self._timer, self._progress = torch, timer, progress
        self._before: str | None = None
        self._has_begun = self._is_outermost = False
        self._hook: Any = None

    def watch(self, tensors: Any) -> None:
        """Queue a callback at the first gradient of the pass, if the ranks share the pass."""
        distributed = self._torch.distributed
        with suppress(Exception):
            if self._timer.in_backward or not distributed.is_available() or not distributed.is_initialized():
                return
            self._timer.in_backward = self._is_outermost = True
            root = tensors if isinstance(tensors, self._torch.Tensor) else next(iter(tensors))
            self._hook = root.register_hook(self._queue)

    def _queue(self, gradient: Any) -> None:
        with suppress(Exception):
            if self._hook is not None:
                self._hook.remove()
                self._hook = None
                self._torch.autograd.Variable._execution_engine.queue_callback(self._enter)

    def _enter(self) -> None:
        self._before = self._timer.enter(COMMUNICATION_S)
        self._has_begun = self._progress.begin(END_OF_BACKWARD)

    def leave(self) -> None:
        """End the communication."""
        with suppress(Exception):
            if self._hook is not None:
                self._hook.remove()
        if self._has_begun:
            self._progress.end()
        if self._is_outermost:
            self._timer.in_backward = False
            self._timer.leave(self._before)


def _is_on_gpu(optimizer: Any) -> bool:
    return any(parameter.is_cuda for group in optimizer.param_groups[:1] for parameter in group["params"][:1])
