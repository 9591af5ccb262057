"""Progress: the counts of one rank's steps, batches and collectives, and the collective in which it is."""

from __future__ import annotations

import threading
import time


class Progress:
    """What a rank has done; a rank whose counts do not change makes no progress."""

    def __init__(self) -> None:
        self.steps = 0
        self.batches = 0
        self.begun = 0  # collectives, among them the waits for those of DistributedDataParallel
        self.ended = 0
        self.collective: str | None = None  # in which the rank is
        self.since = 0.0  # by the monotonic clock
        self.thread = threading.main_thread().ident  # of the training: collectives of other threads do not count

    def begin(self, collective: str) -> bool:
        """Note that the rank enters a collective; return False if it is in one already, or for another thread."""
        if self.collective is not None or threading.get_ident() != self.thread:
            return False
        self.begun += 1
        self.collective, self.since = collective, time.monotonic()
        return True

    def end(self) -> None:
        """Note that the rank leaves its collective."""
        self.ended += 1
        self.collective = None

    def end_step(self) -> None:
        """Note the end of a step, and the thread that trains."""
        self.steps += 1
        self.thread = threading.get_ident()

    def counts(self) -> tuple[int, int, int, int]:
        """Return steps, batches, and the collectives that have begun and ended."""
        return self.steps, self.batches, self.begun, self.ended
