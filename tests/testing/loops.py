"""Coroutines of tests that must not depend on the thread's own event loop."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_in_own_loop(coroutine: Coroutine[None, None, T]) -> T:
    """Run a coroutine to its end in a new thread; return its result.

    Playwright's synchronous interface keeps an event loop running in the thread of the tests from the first
    browser test on, and ``asyncio.run`` refuses to start beside it.
    """
    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(asyncio.run, coroutine).result()
