"""Folders of a submission: one per run, and for an array the mapping from tasks to runs."""

import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

from contract.folder.files.disk_errors import is_transient
from contract.folder.run_folder import RunFolder
from contract.lifecycle.reason import FolderNotWritable
from contract.lifecycle.state import State
from scheduler.clusters.cluster import ArrayRequest
from scheduler.clusters.slurm.commands import SBATCH_TIMEOUT_S
from scheduler.context import Context
from scheduler.submit.backoff import next_try
from store import submissions, transitions
from store.session import transaction
from store.tables.runs import Job, Run

FULL_FOR = timedelta(seconds=30)  # the first wait of a run whose cluster, or disk, is full
PORTION = 64  # folders that are written in one step
WRITERS = 16  # a shared file system is slow for one writer and fast for many
RENEW_S = 3.0  # between two renewals of a lease
HELD_S = SBATCH_TIMEOUT_S + 0.5  # after a renewal no other worker acts on the submission for longer than this
Pair = tuple[Run, Job]


class Lease:
    """The lease of a submission, renewed from time to time: without it `recover` takes over the submission."""

    def __init__(self, context: Context, name: str) -> None:
        self._context, self._name, self._renewed = context, name, time.monotonic()

    def renew_if_due(self) -> bool:
        """Return False if the submission was given up meanwhile, as far as was checked."""
        return True if time.monotonic() - self._renewed < RENEW_S else self.renew()

    def renew(self) -> bool:
        """Renew the lease; return False if the submission was given up meanwhile."""
        self._renewed = time.monotonic()
        with transaction(self._context.engine) as db:
            return submissions.renew_lease(db, self._name)

    def surely_holds(self) -> bool:
        """Return whether the last renewal is so recent that no other worker can have given up the submission."""
        return time.monotonic() - self._renewed < HELD_S


def write_run_folders(context: Context, lease: Lease, taken: Sequence[Pair]) -> Generator[float, None, list[Pair]]:
    """Write the run folders, a portion in a step; return the runs that have theirs, none if the lease is lost."""
    ready: list[Pair] = []
    for start in range(0, len(taken), PORTION):
        if not lease.renew_if_due():
            return []
        portion = taken[start : start + PORTION]
        with ThreadPoolExecutor(min(WRITERS, len(portion))) as writers:
            errors = list(writers.map(partial(_write_one, context), portion))
        for pair, error in zip(portion, errors, strict=True):
            if error:
                _put_aside(context, pair[0], error)
            else:
                ready.append(pair)
        yield 0.0
    return ready


def write_array_folder(context: Context, lease: Lease, array: ArrayRequest, ready: Sequence[Pair]) -> Iterator[float]:
    """Write which task carries which run, or which runs, a portion in a step."""
    carries: dict[int, dict[int, RunFolder]] = defaultdict(dict)
    for run, job in ready:
        carries[job.array_task or 0][job.pack_member or 0] = context.folder_of(run)
    for start in range(0, len(array.tasks), PORTION):
        if not lease.renew_if_due():
            return  # nothing is submitted then either
        portion = {task: carries[task] for task in array.tasks[start : start + PORTION]}
        if array.pack is None:
            array.folder.link_runs({task: members[0] for task, members in portion.items()}, context.run_folders)
        else:
            array.folder.link_packs(portion, context.run_folders)
        yield 0.0
    array.folder.sync()


def _write_one(context: Context, pair: Pair) -> OSError | None:
    run, job = pair
    try:
        # the API has validated the spec, so it is written without being read
        context.folder_of(run).prepare(run.spec, job.attempt, context.run_folders)
    except OSError as error:
        return error
    return None


def _put_aside(context: Context, run: Run, error: OSError) -> None:
    """Queue or fail one run whose folder cannot be written, without the other runs of the submission."""
    reason = FolderNotWritable(folder="run", error=str(error))
    with transaction(context.engine) as db:
        if not is_transient(error):
            transitions.apply_if_unchanged(db, run, State.FAILED, reason)
        else:
            not_before = next_try(db, run, FULL_FOR)
            transitions.apply_if_unchanged(db, run, State.QUEUED, reason, not_before=not_before)
