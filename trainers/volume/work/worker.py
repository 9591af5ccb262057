"""A worker: leases tasks one after another and carries them out, until all stages of the plan are done."""

import time
from collections.abc import Callable

from trainers.volume.stores.durable import remove_drafts
from trainers.volume.task_folder import Lease, Renewal, TaskFolder
from trainers.volume.work.chunk_task import Tasks
from trainers.volume.work.plan import Plan


class PauseRequested(Exception):
    """The cluster wants the hosts back: the worker ends between two tasks."""


class Workbench:
    """One worker on one plan."""

    def __init__(self, plan: Plan, tasks: TaskFolder) -> None:
        self._plan, self._leases, self._tasks = plan, tasks, Tasks(plan)
        self._renewal = Renewal(tasks, lease_s=plan.spec.lease_s)

    def work(
        self, on_progress: Callable[[], object] = lambda: None, wants_pause: Callable[[], bool] = lambda: False
    ) -> None:
        """Carry out tasks until all are done, by this worker or by others.

        Raise PauseRequested between two tasks if `wants_pause()`. A task that fails is given back.
        """
        try:
            for stage, count in self._plan.stages.items():
                while (lease := self._leases.take(stage, count, on_progress)) is not None:
                    self._carry_out(lease)
                    on_progress()
                    if wants_pause():
                        raise PauseRequested
        finally:
            self._renewal.stop()

    @property
    def components(self) -> int | None:
        """The number of components, if the spec asks for them and they are merged."""
        return self._tasks.components

    def remove_drafts(self) -> None:
        """Delete what killed workers left behind, when all tasks are done.

        A worker whose lease is over may still write to an output, so a draft there must be as old as a lease.
        """
        remove_drafts(self._plan.work)
        for folder in self._plan.output_folders:
            remove_drafts(folder, older_than_s=self._plan.spec.lease_s)

    def _carry_out(self, lease: Lease) -> None:
        started = time.monotonic()
        self._renewal.current = lease
        is_done = False
        try:
            self._tasks.carry_out(lease.stage, lease.index)
            self._leases.finish(lease, time.monotonic() - started)
            is_done = True
        finally:
            self._renewal.current = None
            if not is_done:
                self._leases.give_back(lease)
