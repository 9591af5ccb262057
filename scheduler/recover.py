"""Runs whose launcher died, or was left in doubt, between taking them and storing their job's id."""

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy.orm import Session

from contract.folder import GIVEN_UP
from contract.run import State
from scheduler.clusters.cluster import BusyError, Cluster, DoubtError
from scheduler.clusters.slurm_commands import SUBMIT_S
from scheduler.clusters.slurm_ids import base_of
from scheduler.site import Site, job_name
from store import launches, runs
from store.session import snapshot, transaction
from store.tables import Run

# longer than any submission may take, so that nobody who is still submitting is overtaken
PATIENCE = timedelta(seconds=SUBMIT_S + 3)
MAX_ATTEMPTS = 5
AT_ONCE = 200  # names on a command line
LOST = "its submission was lost"
REST_S = 10.0  # after a cluster did not answer: its calls are needed for other things too
_resting_until: dict[int, float] = {}  # by the cluster object: one of this process alone
_seen_since: dict[tuple[str, datetime], float] = {}
log = logging.getLogger(__name__)


def recover(site: Site, patience: timedelta = PATIENCE) -> None:
    """Adopt the job of every run that is stuck in submission, or queue the run again when there surely is none."""
    with snapshot(site.engine) as db:
        submitting = runs.in_state(db, State.SUBMITTING)
    by_cluster: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in _stuck(submitting, patience):
        by_cluster[run.cluster][run.job_name or job_name(run.key, run.attempt)].append(run)
    for kind, submissions in by_cluster.items():
        if cluster := site.clusters.get(kind):  # another worker may have that one; not to have it says nothing
            _recover_on(site, cluster, dict(islice(submissions.items(), AT_ONCE)))


def _recover_on(site: Site, cluster: Cluster, submissions: Mapping[str, Sequence[Run]]) -> None:
    if time.monotonic() < _resting_until.get(id(cluster), 0.0):
        return
    try:
        found = cluster.find(list(submissions))
    except BusyError as busy:
        log.info("whether %s were submitted is not known yet: %s", ", ".join(submissions), busy)
        return
    except DoubtError as doubt:
        log.warning("whether %s were submitted is not known yet: %s", ", ".join(submissions), doubt)
        _resting_until[id(cluster)] = time.monotonic() + REST_S
        return
    for name, job_id in found.items():
        try:
            _recover_one(site, name, submissions[name], job_id)
        except Exception:  # one submission's trouble must not keep the others stuck
            log.exception("%s could not be recovered", name)


def _stuck(submitting: Sequence[Run], patience: timedelta) -> list[Run]:
    """Those that this process has seen in the same submission for so long: another worker's clock may be wrong."""
    present = time.monotonic()
    seen = {(run.key, run.moved_at): _seen_since.get((run.key, run.moved_at), present) for run in submitting}
    _seen_since.clear()
    _seen_since.update(seen)
    return [run for run in submitting if present - seen[run.key, run.moved_at] >= patience.total_seconds()]


def _recover_one(site: Site, name: str, stuck: Sequence[Run], job_id: str | None) -> None:
    holders = {} if job_id else _take_claims(site, stuck)
    with transaction(site.engine) as db:
        for run in stuck:
            if holders.get(run.id) == GIVEN_UP:
                _give_up(db, run)
        if found := job_id or next((holder for holder in holders.values() if holder != GIVEN_UP), None):
            is_task = not job_id and stuck[0].task is not None
            launches.place(db, name, base_of(found) if is_task else found, reason="found by its name")


def _take_claims(site: Site, stuck: Sequence[Run]) -> dict[int, str]:
    """Claim the attempts, so that jobs that the cluster takes after all leave at once; say who has each.

    A controller that was slow may accept long after its client gave up, and a job may have come and gone unseen.
    """
    holders = {}
    for run in stuck:
        job = site.job_of(run)
        job.folder.prepare(job.spec, job.attempt)
        holders[run.id] = job.folder.claim(job.attempt, GIVEN_UP)
    return holders


def _give_up(db: Session, run: Run) -> None:
    """There is no job: the run ends if that was wished, else it waits to be submitted again."""
    if run.stop_wanted_at:
        runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
    elif (lost := 1 + runs.times(db, run, State.SUBMITTING, State.QUEUED, reason=LOST)) >= MAX_ATTEMPTS:
        runs.move(db, run, State.FAILED, reason=f"{run.cluster} did not take the job in {lost} attempts")
    else:
        runs.move(db, run, State.QUEUED, reason=LOST)
