"""Bring queued runs to their clusters, each exactly once however many launchers there are.

What is written before what, so that a launcher may die anywhere: the runs are `submitting` under a name (the intent);
their folders lie there, and for an array which task carries which run; only then is the cluster asked, and what it
answers is stored. Runs that stay `submitting` are found by that name (scheduler/ticks/recover.py).
"""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

from contract.folder.disk_errors import may_pass
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Array, BusyError, Cluster, DoubtError, FullError, Held, Job, RefusedError
from scheduler.context import Site
from scheduler.submit.backoff import SOUGHT, wait_until
from scheduler.submit.select import FEW, Batch, choose
from store import runs
from store import submissions as launches
from store.session import snapshot, transaction
from store.tables import Run

BUDGET_S = 20.0  # for who names no time
FULL_FOR = timedelta(seconds=30)  # how long a run waits that a cluster, or a disk, takes no more of, the first time
PORTION = 64  # folders that are written in one step
WRITERS = 16  # a shared file system is slow for one and fast for many
RENEW_S = 3.0  # between two signs that a submission goes on
LONG_S = 0.2  # what taking many runs, or handing them in, may take of a tick
Steps = Iterator[float]  # of a submission: whoever has it may go on at once or later, and is told how long that takes
log = logging.getLogger(__name__)


def launch(site: Site, until: float | None = None) -> None:
    """Submit queued runs, oldest first, while there is room; begin nothing more after `until` (time.monotonic()).

    A submission of many runs is made in steps, and the next call goes on with one that is not done by then. This
    process alone knows of it: when the process dies, its runs are found as any launcher's are
    (scheduler/ticks/recover.py).
    """
    until = time.monotonic() + BUDGET_S if until is None else until
    for kind, cluster in site.clusters.items():
        try:
            _launch_to(site, kind, cluster, until)
        except DoubtError as doubt:  # the cluster does not say how much it takes, or was asked often enough
            log.info("%s is not launched to: %s", kind, doubt)


def finish(site: Site) -> None:
    """Bring what was begun to its end: there will be no further call."""
    while site.begun:
        _, steps = site.begun.popitem()
        _go_on(steps, math.inf)


def _launch_to(site: Site, kind: str, cluster: Cluster, until: float) -> None:
    tried: set[int] = set()  # a run that comes back to the queue meanwhile is for the next tick
    large = site.begun.pop(kind, None)
    try:
        goes_on = large is not None
        if large:  # before all else: when all is written it needs its call of the cluster
            large = _go_on(large, 0.0)
        while True:
            late = (goes_on or tried) and time.monotonic() + LONG_S >= until
            batch = choose(site, kind, cluster, few=bool(late or large))
            if batch and not tried.intersection(run.id for run in batch.runs):
                tried.update(run.id for run in batch.runs)
                is_large = len(batch.runs) > FEW  # then others may go before it has ended
                left = _go_on(_submission(site, cluster, batch), 0.0 if is_large else math.inf)
                large = left or large
            elif not large or (large := _go_on(large, until)):
                return
            if time.monotonic() >= until:
                return
    finally:
        if large:
            site.begun[kind] = large


def _go_on(steps: Steps, until: float) -> Steps | None:
    """Take a step, and more of them that end by then; return what is left."""
    for takes_s in steps:
        if time.monotonic() + takes_s >= until:
            return steps
    return None


def _submission(site: Site, cluster: Cluster, batch: Batch) -> Steps:
    with transaction(site.engine) as db:
        taken = launches.take(db, batch.runs, batch.name, pack=batch.pack, parallel=batch.parallel)
    if not taken:
        return  # another launcher was first, or a stop
    yield 0.0
    sign = _Sign(site, batch.name)
    ready = yield from _prepare(site, sign, taken)
    if len(taken) > 1 and ready:
        array = site.array_of(ready, parallel=batch.parallel)
        try:
            yield from _lead(site, sign, array, ready)
        except OSError as error:
            _put_back(site, batch.name, "the folder of the array cannot be written", error)
            return
        yield LONG_S
        _submit(site, cluster, array)
    elif ready:
        _submit(site, cluster, site.job_of(ready[0]))


class _Sign:
    """That a submission goes on, given from time to time: else `recover` would take it for stuck."""

    def __init__(self, site: Site, name: str) -> None:
        self._site, self._name, self._given = site, name, time.monotonic()

    def give(self) -> bool:
        """Whether it is still ours, as far as was asked: it may have been given up meanwhile."""
        if time.monotonic() - self._given < RENEW_S:
            return True
        self._given = time.monotonic()
        return _is_ours(self._site, self._name)


def _lead(site: Site, sign: _Sign, array: Array, ready: Sequence[Run]) -> Steps:
    """Write down which task carries which run, or which several, a portion in a step."""
    carries: dict[int, dict[int, RunFolder]] = defaultdict(dict)
    for run in ready:
        carries[run.task or 0][run.member or 0] = site.folder_of(run)
    for start in range(0, len(array.tasks), PORTION):
        if not sign.give():
            return  # nothing is submitted then either
        portion = {task: carries[task] for task in array.tasks[start : start + PORTION]}
        if array.pack is None:
            array.folder.prepare({task: members[0] for task, members in portion.items()})
        else:
            array.folder.prepare_packs(portion)
        yield 0.0
    array.folder.keep()


def _prepare(site: Site, sign: _Sign, taken: Sequence[Run]) -> Generator[float, None, list[Run]]:
    """Write the runs' folders, a portion in a step; return the runs that have theirs, none if all were given up."""
    ready: list[Run] = []
    for start in range(0, len(taken), PORTION):
        if not sign.give():
            return []
        portion = taken[start : start + PORTION]
        with ThreadPoolExecutor(min(WRITERS, len(portion))) as writers:
            troubles = list(writers.map(partial(_prepare_one, site), portion))
        for run, trouble in zip(portion, troubles, strict=True):
            if trouble:
                _set_aside(site, run, trouble)
            else:
                ready.append(run)
        yield 0.0
    return ready


def _prepare_one(site: Site, run: Run) -> OSError | None:
    try:
        # the door has checked the spec: it need not be read to be written
        site.folder_of(run).prepare(run.spec, run.attempt)
    except OSError as error:
        return error
    return None


def _set_aside(site: Site, run: Run, trouble: OSError) -> None:
    """A run whose folder cannot be written waits or fails alone."""
    reason = f"the run folder cannot be written: {trouble}"
    with transaction(site.engine) as db:
        if not may_pass(trouble):
            runs.move(db, run, State.FAILED, reason=reason)
        else:
            runs.move(db, run, State.QUEUED, reason=reason, not_before=wait_until(db, run, FULL_FOR))


def _is_ours(site: Site, name: str) -> bool:
    """Whether it was not given up; `recover` is told that it goes on, else it would take it for stuck."""
    with transaction(site.engine) as db:
        return launches.still_ours(db, name)


def _submit(site: Site, cluster: Cluster, job: Job | Array) -> None:
    """Hand it to its cluster, outside any transaction, and store what came of it."""
    if not _is_ours(site, job.name):
        return  # it was given up while its folders were written
    try:
        job_id = cluster.submit(job)
    except BusyError as busy:
        _queue_again(site, job.name, str(busy), timedelta(0))
    except FullError as full:
        _queue_again(site, job.name, str(full), FULL_FOR)
    except RefusedError as error:
        _fail(site, job.name, f"{job.spec.resources.kind} refused the job: {error}")
    except Exception as doubt:
        # perhaps it has the job: `recover` asks for it by name before anybody submits again
        log.warning("%s: whether it was submitted is not known: %s", job.name, doubt)
        with transaction(site.engine) as db:
            launches.note_doubt(db, job.name, f"{doubt}{SOUGHT}")
    else:
        _store(site, cluster, job, job_id)


def _store(site: Site, cluster: Cluster, job: Job | Array, job_id: str) -> None:
    with transaction(site.engine) as db:
        ours = launches.place(db, job.name, job_id)
    if ours:
        return
    with snapshot(site.engine) as db:
        adopted = any(launches.is_of(run, job_id) for run in launches.named(db, job.name))
    if not adopted:
        log.warning("%s was given up while it was submitted: job %s is cancelled", job.name, job_id)
        cluster.cancel([Held(job_id, job.name)])


def _put_back(site: Site, name: str, what: str, error: OSError) -> None:
    if not may_pass(error):
        _fail(site, name, f"{what}: {error}")
    else:
        _queue_again(site, name, f"{what}: {error}", FULL_FOR)


def _queue_again(site: Site, name: str, reason: str, first: timedelta) -> None:
    """Surely nothing was taken: its runs wait, all as long as the first of them."""
    with transaction(site.engine) as db:
        some = launches.named(db, name)
        not_before = wait_until(db, some[0], first) if some else None
        launches.move_named(db, name, State.QUEUED, reason=reason, not_before=not_before)


def _fail(site: Site, name: str, reason: str) -> None:
    with transaction(site.engine) as db:
        launches.move_named(db, name, State.FAILED, reason=reason)
