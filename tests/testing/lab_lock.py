"""The lock on the lab: tests kill its daemons and bring them back, so one process of tests may use it at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.state_folder import selected_folder


@contextmanager
def lab_lock() -> Iterator[None]:
    """Hold the lab; fail at once where another process of tests holds it."""
    root = selected_folder().root
    root.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(f"{root}.tests.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        pytest.fail(f"another process of tests uses the lab in {root}; tests of the lab must run in one process")
    try:
        yield
    finally:
        os.close(lock)
