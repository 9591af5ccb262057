"""Python's garbage collector during the reading of many events."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Search for no cycles of objects inside, and continue as before afterwards.

    Events make many objects and no cycles, and a search at each seven hundredth object looks at all those that were
    read before: with it, a line takes 4.1 us instead of 1.7. What a tick reads is bounded, and so is its memory.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
