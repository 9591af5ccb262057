"""A database that was restored, so that it is older than its service's run folders, brought up to them.

A service counts its marks in the database and beside the run folders. A lower count in the database shows that it is an
older state of it. Then no id is given that the service may have given since, and runs that have not ended go on from
what their folders have. The migration looks before the parts of the service start, and a worker before each mark: the
file server may have been away, or nobody may have called the migration.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session, selectinload

from contract.folder.claimed_job import ClaimedJob, find_claimed_job
from contract.folder.files.untrusted_file import stat_file
from contract.folder.job_identity import host
from contract.folder.run_folder import RunFolder
from contract.folder.service_records import experiment_ids, read_mark, run_folders
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import FolderRestored, FoundInFolder, Retried, StopSource, SubmissionLost
from contract.lifecycle.state import LIVE, State
from store import jobs, service, transitions
from store.service import Given
from store.session import snapshot, transaction
from store.tables.runs import Job, Run
from store.transitions import JobExit, Transition

# that may have been given since the last mark, or since the backup where no mark is left
EXPERIMENTS_APART, RUNS_APART = 1_000, 10_000
UNENDED = (State.QUEUED, State.SUBMITTING, *LIVE)


class Restored(NamedTuple):
    """What `bigbatch restore` did before this start."""

    home: bool = False  # it made the home of a backup
    folders: bool = False  # also the run folders: jobs of before write to other ones


def bring_up(engine: Engine, root: Path, restored: Restored) -> list[str]:
    """Bring a database up to the run folders below `root` where it is older; return what was done, in sentences.

    May raise OSError, and has changed nothing then.
    """
    with snapshot(engine) as db:
        identity = service.identity(db)
    mark = read_mark(root, identity)
    with snapshot(engine) as db:  # after the file, whose count another worker may raise
        given, marks = service.given_ids(db), service.counted_marks(db)
    is_older = restored.home or (mark is not None and mark.count > marks)
    if mark is not None and not is_older:
        return []
    seen = Given(
        max([given.experiments, mark.experiments if mark else 0, *experiment_ids(root, identity)]),
        max([given.runs, mark.runs if mark else 0, *(folder.run_id for folder in run_folders(root, identity))]),
    )
    least = Given(_beyond(seen.experiments, EXPERIMENTS_APART), _beyond(seen.runs, RUNS_APART)) if is_older else seen
    with transaction(engine) as db:  # its own: whatever fails then, no id is given twice
        service.raise_ids(db, least)
    if not is_older:
        return []
    claimed, unread = ({}, []) if restored.folders else _read_claims(engine, root)
    with transaction(engine) as db:
        done = _lose_jobs(db, root) if restored.folders else _take_attempts(db, claimed)
        if mark is not None:  # last: until then the database shows itself as an older one
            service.raise_marks(db, mark.count)
    return [
        "the database was restored: it is older than what its service did last",
        f"experiments continue after id {least.experiments}, runs after id {least.runs}, so no id is given twice",
        *done,
        *unread,
    ]


def _beyond(highest: int, apart: int) -> int:
    """Return the next multiple of `apart` that leaves room for as many ids."""
    return -(-(highest + apart) // apart) * apart


def _lose_jobs(db: Session, root: Path) -> list[str]:
    """Queue the runs that had jobs: those write to folders of before. The tick `reap` ends the jobs first."""
    lost = []
    for name in db.scalars(
        select(Job.name).join(Run, Run.current_job_id == Job.id).where(Run.state == State.SUBMITTING).distinct()
    ):
        transitions.apply_to_submission(db, name, State.QUEUED, SubmissionLost())
        jobs.write_given_up(db, name)
    for run in _runs(db, *LIVE):
        job = next(job for job in run.jobs if job.id == run.current_job_id)
        reason = FolderRestored()
        if run.stop_source is StopSource.SHUTDOWN:
            run.stop_requested_at = run.stop_source = None
        # no worker of this machine can ask for a job of another one
        job.is_gone = job.is_gone or (run.cluster == "local" and _host_of(job.external_id) != host())
        job.ran_s = _ran_until_backup(RunFolder.of(root, run.id, run.key), job)
        again = Retried(after=reason, attempt=run.attempt + 1)
        transitions.apply(
            db, run, job, Transition(State.QUEUED, again, JobExit(ExitCause.LOST, reason)), not_before=None
        )
        lost.append(run.id)
    if not lost:
        return []
    return [f"runs {', '.join(map(str, lost))} were live at the backup: they go on from their checkpoints"]


def _read_claims(engine: Engine, root: Path) -> tuple[dict[int, ClaimedJob], list[str]]:
    """Return the latest job in the folder of each run that has not ended; and which folders cannot be read."""
    with snapshot(engine) as db:
        rows = db.execute(select(Run.id, Run.key).where(Run.state.in_(UNENDED)).order_by(Run.id)).all()
    found, unread = {}, []
    for run_id, key in rows:
        try:
            claimed = find_claimed_job(root, RunFolder.of(root, run_id, key))
        except OSError as error:  # its job may have closed it, which is no reason to hold up the others
            unread.append(f"whether the folder of run {run_id} has a later attempt is not known: {error}")
        else:
            if claimed is not None:
                found[run_id] = claimed
    return found, unread


def _take_attempts(db: Session, found: Mapping[int, ClaimedJob]) -> list[str]:
    """Give runs that have not ended the later attempts that their folders have."""
    taken = []
    for run in _runs(db, *UNENDED):
        claimed = found.get(run.id)
        if claimed is not None and claimed.attempt > run.attempt:
            give_attempt(db, run, claimed)
            taken.append(f"run {run.id} goes on with attempt {claimed.attempt}, which is in its folder")
    return taken


def give_attempt(db: Session, run: Run, claimed: ClaimedJob) -> None:
    """Make a job that the database does not know the current one of an unended run; its events are read as usual."""
    reason = FoundInFolder(attempt=claimed.attempt)
    if run.state in LIVE:
        job = next(job for job in run.jobs if job.id == run.current_job_id)
        job.is_gone = True
        transitions.apply(db, run, job, Transition(State.QUEUED, reason, JobExit(ExitCause.LOST, reason)))
    elif run.state is State.SUBMITTING:
        transitions.apply_if_unchanged(db, run, State.QUEUED, reason)
    placed = {"array_task": claimed.array_task, "pack_member": claimed.pack_member}
    db.add(Job(run_id=run.id, attempt=claimed.attempt, name=claimed.name, cluster=run.cluster, **placed))
    db.flush()
    transitions.begin_submission(db, [run.id], claimed.attempt)
    if claimed.external_id is None:  # no job may carry it out
        transitions.apply_to_submission(db, claimed.name, State.QUEUED, reason)
    else:
        array = claimed.external_id if claimed.array_task is None else claimed.external_id.partition("_")[0]
        transitions.apply_to_submission(db, claimed.name, State.PENDING, reason, job_id=array, at=run.created_at)
    db.expire(run)


def _runs(db: Session, *states: State) -> list[Run]:
    query = select(Run).where(Run.state.in_(states)).order_by(Run.id).options(selectinload(Run.jobs))
    return list(db.scalars(query.with_for_update(key_share=True)))


def _ran_until_backup(folder: RunFolder, job: Job) -> float | None:
    """Return for how long an attempt ran until its last heartbeat in the backup; None if that is not known."""
    if job.started_at is None or job.ran_s is not None:
        return job.ran_s
    with suppress(OSError):
        beat = stat_file(folder.path, f"attempts/{job.attempt}.beat").st_mtime
        seconds = beat - job.started_at.timestamp()
        return seconds if seconds >= 0 else None
    return None


def _host_of(external_id: str | None) -> str:
    """Return the host in the id of a local job, this one if the id has none."""
    place = (external_id or "").rpartition("@")
    return place[2].rpartition(":")[0] if place[1] else host()
