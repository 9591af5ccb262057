"""Runs whose launcher died, or was left in doubt, between taking them and storing their job's id."""

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy.orm import Session

from contract.folder.run_folder import GIVEN_UP, SOMEBODY
from contract.lifecycle.state import State
from scheduler.clusters.cluster import BusyError, Cluster, DoubtError
from scheduler.clusters.slurm.commands import SUBMIT_S
from scheduler.clusters.slurm.job_ids import base_of
from scheduler.context import Site, job_name
from scheduler.submit.backoff import LOST, SOUGHT, wait_until
from store import runs
from store import submissions as launches
from store.session import snapshot, transaction
from store.tables import Run, now

# longer than any submission may take, so that nobody who is still submitting is overtaken
PATIENCE = timedelta(seconds=SUBMIT_S + 3)
AT_ONCE = 200  # names on a command line
GATHER_S = 7.0  # that a search waits for others: it costs two calls, for however many names; with the ticks, 8
REST_S = 10.0  # after a cluster did not answer: its calls are needed for other things too
LONGEST_S = 600.0  # that a submission rests which cannot be settled
NO_JOBS = (GIVEN_UP, SOMEBODY)
_resting_until: dict[int, float] = {}  # by the cluster object: one of this process alone
_seen_since: dict[tuple[str, datetime], float] = {}
_unsettled: dict[str, tuple[float, float]] = {}  # by name: until when it rests, and for how long
log = logging.getLogger(__name__)


def recover(site: Site, patience: timedelta = PATIENCE) -> None:
    """Adopt the job of every run that is stuck in submission, or queue the run again when there surely is none."""
    with snapshot(site.engine) as db:
        submitting = runs.in_state(db, State.SUBMITTING)
    by_cluster: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    ages_s = _ages(site, submitting)
    for run in submitting:
        if ages_s[run.id] < patience.total_seconds():
            continue
        name = run.job_name or job_name(run.key, run.attempt)
        if time.monotonic() >= _unsettled.get(name, (0.0, 0.0))[0]:
            by_cluster[run.cluster][name].append(run)
    for kind, cluster in site.clusters.items():  # who has none of a kind can say nothing of its jobs
        if not (submissions := by_cluster.get(kind)):
            site.gathering.pop(kind, None)
            continue
        theirs_s = [ages_s[run.id] for run in submitting if run.cluster == kind]
        if cluster.is_here or not _others_come(site, kind, theirs_s, patience.total_seconds()):
            is_answered = _recover_on(site, cluster, dict(islice(submissions.items(), AT_ONCE)))
            if is_answered and len(submissions) <= AT_ONCE:  # who has waited does not wait anew
                site.gathering.pop(kind, None)


def _recover_on(site: Site, cluster: Cluster, submissions: Mapping[str, Sequence[Run]]) -> bool:
    """Whether it was told of each what is known."""
    if time.monotonic() < _resting_until.get(id(cluster), 0.0):
        return False
    try:
        found = cluster.find(list(submissions))
    except BusyError as busy:
        log.info("whether %s were submitted is not known yet: %s", ", ".join(submissions), busy)
        return False
    except DoubtError as doubt:
        log.warning("whether %s were submitted is not known yet: %s", ", ".join(submissions), doubt)
        _resting_until[id(cluster)] = time.monotonic() + REST_S
        return False
    for name, job_id in found.items():
        is_settled = False
        try:
            is_settled = _recover_one(site, name, submissions[name], job_id)
        except Exception:  # one submission's trouble must not keep the others stuck
            log.exception("%s could not be recovered", name)
        if is_settled or cluster.is_here:
            _unsettled.pop(name, None)
        else:  # what is asked of the cluster every time would take the calls from others
            rest_s = min(2 * _unsettled.get(name, (0.0, REST_S / 2))[1], LONGEST_S)
            _unsettled[name] = (time.monotonic() + rest_s, rest_s)
    return True


def _others_come(site: Site, kind: str, ages_s: Sequence[float], patience_s: float) -> bool:
    """Whether a search should wait: others will have to be searched for soon, and none of it has waited for long.

    A worker that was killed again and again leaves a submission every other second. Two searches find all that there is
    when a worker begins: it waits for half of the patience, and then for the youngest.
    """
    present = time.monotonic()
    began = site.gathering.setdefault(kind, present)
    return present - began < GATHER_S and any(patience_s - GATHER_S < age_s < patience_s for age_s in ages_s)


def _ages(site: Site, submitting: Sequence[Run]) -> dict[int, float]:
    """For how long this process has seen each in the same submission: another worker's clock may be wrong.

    What it finds as it begins has been there since a moment in the database, and need not be watched as long once more.
    """
    present, at, is_first = time.monotonic(), now(), "recover" not in site.once
    site.once.add("recover")
    known = {(run.key, run.moved_at): (at - run.moved_at).total_seconds() if is_first else 0.0 for run in submitting}
    seen = {it: _seen_since.get(it, present - max(0.0, ago_s)) for it, ago_s in known.items()}
    _seen_since.clear()
    _seen_since.update(seen)
    return {run.id: present - seen[run.key, run.moved_at] for run in submitting}


def _recover_one(site: Site, name: str, stuck: Sequence[Run], job_id: str | None) -> bool:
    """Whether it is known now what became of every run."""
    holders = {} if job_id else _take_claims(site, stuck)
    with transaction(site.engine) as db:
        launches.hold(db, name)
        for run in stuck:
            if holders.get(run.id) == GIVEN_UP:
                _give_up(db, run)
        # a claim that is not shown yet is somebody's, and nobody can say whose: the run stays where it is
        if found := job_id or next((holder for holder in holders.values() if holder not in NO_JOBS), None):
            is_task = not job_id and stuck[0].task is not None
            launches.place(db, name, base_of(found) if is_task else found, reason="found by its name")
    return bool(found) or SOMEBODY not in holders.values()


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
    else:
        why = f"{LOST}: {run.reason.removesuffix(SOUGHT)}" if run.reason else LOST
        runs.move(db, run, State.QUEUED, reason=why, not_before=wait_until(db, run))
