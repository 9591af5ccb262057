"""HostReads: count what makes the host wait for a GPU, on a CPU, where nothing waits.

A host waits when it reads an element of a tensor, asks whether a tensor is true, looks up the places of a mask, or
copies between the host's memory and the device in the usual way. All these are calls of torch, so they are counted by
name. The one allowed way is a HostCopy, which waits for an event.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest import mock

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from trainers.collectives.runners.side_stream import HostCopy

# Tensor.__index__ and __float__ call item()
READS = {"item", "tolist", "__bool__", "__float__", "__int__", "__index__", "cpu", "numpy", "nonzero", "masked_select"}
COPIES = {"tensor", "as_tensor", "new_tensor"}  # of numbers of the host to the device
READ_OPERATIONS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal"}


class _Operations(TorchDispatchMode):
    """See what the functions of optimizers and of autograd read inside."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name in READ_OPERATIONS:
            self._note(func._schema.name)
        return func(*args, **(kwargs or {}))


class HostReads(TorchFunctionMode):
    """A context that notes reads, and what a test notes, in `events`; `on_host`: tensors that a GPU does not have."""

    def __init__(self, *, on_host: Sequence[Tensor] = ()) -> None:
        super().__init__()
        self.events: list[str] = []
        self._on_host = list(on_host)
        self._operations = _Operations(self._note_operation)
        self._inside = False
        self._patches = ExitStack()

    def __enter__(self) -> "HostReads":
        begin_copy, read_copy, counter = HostCopy.begin, HostCopy.read, self

        def begin(self: HostCopy, values_N: Tensor) -> None:
            counter.events.append("begin copy")
            begin_copy(self, values_N)

        def read(self: HostCopy) -> Tensor:
            counter.events.append("read copy")
            counter._on_host.append(read_copy(self))
            return counter._on_host[-1]

        self._patches.enter_context(mock.patch.object(HostCopy, "begin", begin))
        self._patches.enter_context(mock.patch.object(HostCopy, "read", read))
        self._operations.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._operations.__exit__(*error)
        self._patches.close()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        is_read = name in READS and bool(args) and isinstance(args[0], Tensor) and not self._is_on_host(args[0])
        if is_read or name in COPIES:
            self.events.append(name)
        before, self._inside = self._inside, self._inside or name in READS | COPIES
        try:
            result = func(*args, **(kwargs or {}))
        finally:
            self._inside = before
        if args and isinstance(args[0], Tensor) and isinstance(result, Tensor) and self._is_on_host(args[0]):
            self._on_host.append(result)  # computed from numbers of the host
        return result

    def _is_on_host(self, tensor: Tensor) -> bool:
        return any(tensor is known for known in self._on_host)

    def _note_operation(self, name: str) -> None:
        if not self._inside:
            self.events.append(name)
