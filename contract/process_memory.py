"""Memory that a process has freed goes back to the system.

glibc keeps what a thread has freed for that thread: each of a pool's threads that has once read megabytes of events, or
made a large answer, held as much for good.
"""

import ctypes
import gc
import sys
from functools import cache
from typing import Any

M_ARENA_MAX, ARENAS = -8, 2


def share_memory_between_threads() -> None:
    """Let all threads of this process take their memory from the same heaps; call this before there are any."""
    if (libc := _glibc()) is not None:
        libc.mallopt(M_ARENA_MAX, ARENAS)


def give_memory_back() -> None:
    """Free the newest objects that only each other refer to, and give their pages back: some milliseconds."""
    gc.collect(0)  # the generation in which all objects are while the collector is paused
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> Any:
    """Return the C library; None if it is another one than glibc."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
