"""Submissions: queued runs that share one call of sbatch, from their selection to the cluster's id."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, distinct, func, insert, or_, select, update
from sqlalchemy.orm import Session, load_only

from contract.lifecycle.reason import Reason, SubmissionLost
from contract.lifecycle.state import ENDED, LIVE, State
from contract.spec.checks.packing import runs_per_job
from store import changes
from store.locks import lock_jobs, lock_runs, lock_submission
from store.runs import WITH_JOB, waiting_for
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import IS_CURRENT, Job, Move, Run
from store.tables.steps import Step
from store.transitions import begin_submission

# of the run's step in a workflow, else of its experiment
_CAP = func.coalesce(Step.max_parallel, Experiment.max_parallel)
_PACK = func.coalesce(Step.pack, Experiment.pack)


class Group(NamedTuple):
    """Queued runs that may share a submission: equal need and attempt; one experiment, or one step of it, if that has
    a cap or packs."""

    need: str
    attempt: int
    experiment_id: int | None
    step_id: int | None
    max_parallel: int | None
    size: int
    pack: int | None = None
    queue: str = ""


def groups(db: Session, cluster: str) -> list[Group]:
    """Return the groups that wait for `cluster`, the group with the oldest run first."""
    apart, step = case((_is_apart(), Run.experiment_id)), case((_is_apart(), Run.step_id))
    query = (
        select(
            *(Run.need, Run.attempt, apart, step, func.max(_CAP)),
            *(func.count(), func.max(_PACK), func.max(Run.queue)),  # runs of one need have one queue
        )
        .join(Experiment, Experiment.id == Run.experiment_id)
        .outerjoin(Step, Step.id == Run.step_id)
        .where(*waiting_for(cluster))
        .group_by(Run.need, Run.attempt, apart, step)
        .order_by(func.min(Run.id))
    )
    return [Group(*row) for row in db.execute(query)]


def members(db: Session, cluster: str, group: Group, limit: int) -> Sequence[Run]:
    """Return the oldest runs of a group, at most `limit`, with the columns that a submission needs."""
    mine = [*waiting_for(cluster), Run.need == group.need, Run.attempt == group.attempt]
    mine.append(Run.experiment_id == group.experiment_id if group.experiment_id is not None else ~_is_apart())
    mine += [] if group.step_id is None else [Run.step_id == group.step_id]
    known = load_only(Run.key, Run.attempt, Run.withdrawn, Run.experiment_id, Run.step_id, Run.cluster)
    query = select(Run).join(Experiment, Experiment.id == Run.experiment_id).options(known)
    query = query.outerjoin(Step, Step.id == Run.step_id)
    return db.scalars(query.where(*mine).order_by(Run.id).limit(limit)).all()


def _is_apart() -> ColumnElement[bool]:
    """Return the condition for runs that share no submission with runs of another experiment or step."""
    return or_(_CAP.is_not(None), _PACK.is_not(None))


def count_live_runs(
    db: Session, cluster: str, experiment_id: int | None = None, step_id: int | None = None
) -> dict[str, int]:
    """Return the number of live runs of each submission, of all experiments, of one, or of one of its steps."""
    live = _live(cluster)
    if experiment_id is not None:
        live.append(Run.experiment_id == experiment_id)
    if step_id is not None:
        live.append(Run.step_id == step_id)
    rows = db.execute(select(Job.name, func.count()).join(Run, IS_CURRENT).where(*live).group_by(Job.name))
    return dict(rows.all())


class LiveJobs(NamedTuple):
    """The numbers of jobs and array tasks in one queue of a cluster."""

    accepted: int = 0  # of live runs, with an id of the cluster
    submitting: int = 0  # the cluster may have them already
    leaving: int = 0  # their runs have ended a moment ago, and the cluster may still have them

    @property
    def most(self) -> int:
        """The largest number that the cluster may have."""
        return sum(self)


def count_live_jobs(db: Session, cluster: str, *, ended_after: datetime, besides: str = "") -> dict[str, LiveJobs]:
    """Return the numbers of jobs by queue, without the submission `besides`.

    A job whose run was seen to end after `ended_after` counts as leaving until its cluster is seen to have ended it.
    """
    counts: dict[str, LiveJobs] = defaultdict(LiveJobs)
    has_just_ended = (Run.ended_at.is_not(None), Run.moved_at > ended_after)
    is_leaving = (*has_just_ended, Job.external_id.is_not(None), Job.observed_end.is_(None), ~Job.is_gone)
    for tasks, has_id, queue in db.execute(_tasks(besides, *_live(cluster))):
        field = "accepted" if has_id else "submitting"
        counts[queue] = counts[queue]._replace(**{field: getattr(counts[queue], field) + tasks})
    for tasks, _, queue in db.execute(_tasks(besides, Run.cluster == cluster, *is_leaving)):
        counts[queue] = counts[queue]._replace(leaving=counts[queue].leaving + tasks)
    return counts


def _tasks(besides: str, *which: ColumnElement[bool]) -> Select[int, bool, str]:
    """Return the query for the tasks of each submission, whether it has an id, and its queue."""
    tasks = func.count(distinct(func.coalesce(Job.array_task, -1)))
    query = select(tasks, func.count(Job.external_id) > 0, func.max(Run.queue)).join(Run, IS_CURRENT)
    return query.where(Job.name != besides, *which).group_by(Job.name)


def _live(cluster: str) -> list[ColumnElement[bool]]:
    return [Run.cluster == cluster, Run.state.in_([*LIVE, State.SUBMITTING])]


def shared_jobs(db: Session, ending: Sequence[Run]) -> set[tuple[str, int | None]]:
    """Return the jobs of these runs, as name and array task, that also carry a live run which is not among them."""
    jobs = [run.current_job for run in ending if run.current_job and run.current_job.pack_member is not None]
    ids = {run.id for run in ending}
    if not jobs:
        return set()
    others = (
        Job.name.in_({job.name for job in jobs}),
        Run.state.in_([*LIVE, State.SUBMITTING]),
        Job.observed_end.is_(None),
        Run.stop_requested_at.is_(None),  # the job need not go on for a run that is itself ending
    )
    rows = db.execute(select(Job.name, Job.array_task, Run.id).join(Run, IS_CURRENT).where(*others))
    return {(name, task) for name, task, run_id in rows if run_id not in ids}


def free_slots(cap: int, live_runs: Mapping[str, int]) -> int:
    """Return how many more runs of an experiment may run at once: each submission may use up to the whole cap."""
    return cap - sum(min(cap, runs) for runs in live_runs.values())


def take(
    db: Session, waiting: Sequence[Run], name: str, *, pack: int | None = None, parallel: int | None = None
) -> list[Run]:
    """Insert a job for each queued run and change the runs to submitting; return the runs, with their jobs.

    The name is made from the first run. If another worker has that run, or had it since it was read, none is taken: the
    name is another submission's, and an id that is stored under the name would count for both. Several runs get
    an array task each, or with `pack` so many runs share a task. With `parallel`, the free slots of their experiment,
    none is taken if another worker has used some of them since.
    """
    if parallel is not None and _lock_free_slots(db, waiting[0]) < parallel:
        return []
    attempt = waiting[0].attempt
    has_new_name = or_(Run.id != waiting[0].id, Run.withdrawn == waiting[0].withdrawn)
    free = (Run.state == State.QUEUED, Run.attempt == attempt, Run.stop_requested_at.is_(None), has_new_name)
    taken = lock_runs(db, Run.id.in_([run.id for run in waiting]), *free)
    if waiting[0].id not in taken:
        return []
    each, is_array, at = runs_per_job(len(taken), pack), len(taken) > 1, now()
    rows = [
        {
            "run_id": run_id,
            "attempt": attempt + 1,
            "name": name,
            "cluster": waiting[0].cluster,
            "array_task": number // each if is_array else None,
            "pack_member": number % each if is_array and pack else None,
            "lease_renewed_at": at,
        }
        for number, run_id in enumerate(taken)
    ]
    db.execute(insert(Job), rows)
    begin_submission(db, taken, attempt + 1)
    return list(named(db, name))


def _lock_free_slots(db: Session, run: Run) -> int:
    """Return the free slots of the run's experiment or step, after its other launchers."""
    mine = select(Experiment.max_parallel).where(Experiment.id == run.experiment_id)
    cap = db.scalar(mine.with_for_update(key_share=True))
    if run.step_id is not None:
        cap = db.scalar(select(Step.max_parallel).where(Step.id == run.step_id))
    live = {} if cap is None else count_live_runs(db, run.cluster, run.experiment_id, run.step_id)
    return 0 if cap is None else free_slots(cap, live)


def renew_lease(db: Session, name: str) -> bool:
    """Renew the lease of a submission; return False if no run of it is submitting any more."""
    run_ids = lock_submission(db, name, Run.state == State.SUBMITTING)
    jobs = lock_jobs(db, Job.name == name, Job.run_id.in_(run_ids))
    if jobs:
        db.execute(update(Job).where(Job.id.in_(jobs)).values(lease_renewed_at=now()))
    return bool(run_ids)


def write_doubt(db: Session, name: str, reason: Reason) -> None:
    """Store why the outcome of a submission is not known."""
    run_ids = lock_submission(db, name, Run.state == State.SUBMITTING)
    change = update(Run).where(Run.id.in_(run_ids)).values(reason=reason)
    db.execute(change.execution_options(synchronize_session=False))
    changes.record_runs(db, run_ids)


def count_returns(db: Session, run_id: int) -> int:
    """Return how often in a row the run came back from a submission, since a cluster accepted it or it had ended."""
    return db.scalar(select(func.count()).where(_came_back(run_id))) or 0


def count_unknown_errors(db: Session, run_id: int) -> int:
    """Return how many of these returns followed an error message that the service does not know."""
    reasons = db.scalars(select(Move.reason).where(_came_back(run_id)))
    return sum(isinstance(reason, SubmissionLost) and reason.is_error for reason in reasons)


def _came_back(run_id: int) -> ColumnElement[bool]:
    settled = or_(Move.new == State.PENDING, Move.old.in_(ENDED))
    taken = select(func.max(Move.id)).where(Move.run_id == run_id, settled).scalar_subquery()
    back = and_(Move.run_id == run_id, Move.old == State.SUBMITTING, Move.new == State.QUEUED)
    return and_(back, Move.id > func.coalesce(taken, 0))


def has_job(run: Run, job_id: str) -> bool:
    """Return whether the run's current job is `job_id` or a task of that array."""
    own = run.current_job.external_id if run.current_job else None
    return own is not None and (own == job_id or own.startswith(f"{job_id}_"))


def named(db: Session, name: str) -> Sequence[Run]:
    """Return the runs whose current job belongs to the submission `name`, in task order, with their jobs."""
    query = select(Run).join(Job, IS_CURRENT).where(Job.name == name)
    in_order = query.order_by(Job.array_task, Job.pack_member, Run.id)
    return db.scalars(in_order.options(WITH_JOB).execution_options(populate_existing=True)).all()
