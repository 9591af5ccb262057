"""Renewal: a thread that renews a worker's lease while the worker computes."""

import threading
from contextlib import suppress

from trainers.volume.tasks.task_folder import LOOKS_PER_LEASE, Lease, TaskFolder


class Renewal:
    """Renews the lease of the current task four times in a lease's time."""

    def __init__(self, tasks: TaskFolder, *, lease_s: float) -> None:
        self._tasks, self._pause_s = tasks, lease_s / LOOKS_PER_LEASE
        self._end = threading.Event()
        self.current: Lease | None = None
        self._thread = threading.Thread(target=self._run, name="lease renewal", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._pause_s):
            lease = self.current
            if lease is not None:
                with suppress(OSError):  # a file system that fails for a moment; the task may be taken over
                    self._tasks.renew(lease)
