"""Memory that the ranks of one host share: the sender copies a part once, and the receiver adds the part in place.

The memory is an anonymous file (memfd), so killed ranks leave no file behind. Its name has a random part, because two
hosts can have the same name, and then equal process numbers are different processes.
"""

import mmap
import os
import secrets
import socket

import torch
from torch import Tensor

NBYTES = 96 << 20  # Linux allocates a page only on the first write
NAME = "bigbatch-allreduce"


class SharedMemory:
    """Own the memory of this rank; other ranks of the host may map it."""

    def __init__(self) -> None:
        self._name = f"{NAME}-{secrets.token_hex(16)}"
        self._file = os.memfd_create(self._name)
        os.ftruncate(self._file, NBYTES)
        self.memory = _map(self._file)

    @property
    def address(self) -> tuple[str, str, str]:
        """Return the host name, the path that a process on this host opens, and the name of the file there."""
        return socket.gethostname(), f"/proc/{os.getpid()}/fd/{self._file}", self._name

    def close(self) -> None:
        """Close the file: no further process can map the memory; existing mappings stay valid."""
        os.close(self._file)


def create_shared_memory() -> SharedMemory | None:
    """Return new shared memory, or None if the system has no memfd."""
    return SharedMemory() if hasattr(os, "memfd_create") else None


def open_shared_memory(address: tuple[str, str, str] | None) -> Tensor | None:
    """Map the memory of another rank; return None if that rank is on another host or in another container."""
    if address is None or address[0] != socket.gethostname():
        return None
    try:
        file = os.open(address[1], os.O_RDWR)
    except OSError:
        return None
    try:
        if (
            os.readlink(address[1]).removesuffix(" (deleted)") != f"/memfd:{address[2]}"
            or os.fstat(file).st_size != NBYTES
        ):
            return None
        return _map(file)
    except OSError:
        return None
    finally:
        os.close(file)


def _map(file: int) -> Tensor:
    return torch.frombuffer(mmap.mmap(file, NBYTES), dtype=torch.uint8)
