"""A cluster that admits few jobs of a user, and shows its limit by refusals only: the fake Slurm, with time simulated.

The scheduler's own code selects and submits. Jobs last as long as the test defines, and a run ends before its job.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, func, select

from contract.lifecycle.state import State
from lab.fake_slurm.state import ACTIVE, ClusterState, Settings
from scheduler.clusters.cluster import (
    ArrayRequest,
    JobRequest,
    QueueFullError,
    RateLimitedError,
    SubmitLimitError,
)
from scheduler.clusters.shared_rate_limit import SharedRateLimit
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.recover import recover
from store import transitions
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.clusters import SubmitLimit
from store.tables.runs import Job, Move, Run
from tests.testing.clusters import Far, sizes
from tests.testing.fake_slurm import call_in_process
from tests.testing.runs import IMMEDIATELY, create_runs, read, states
from tests.testing.specs import Experiment

LIMIT, LASTS_S, TEARDOWN_S, TICK_S = 5, 30.0, 2.0, 1.0
BEGAN = datetime(2026, 11, 23, 12, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that the test sets."""

    at: float = 0.0

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.at)

    def time(self) -> float:
        return self.now().timestamp()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("store.clock.now", clock.now)
    monkeypatch.setattr("store.rate_limit.time", SimpleNamespace(time=clock.time))
    return clock


@dataclass
class Sweep:
    """Runs under the limit of a fake Slurm, which its jobs leave some time after their runs have ended."""

    context: Context
    stage: ClusterState
    clock: Clock
    began_at: dict[int, float] = field(default_factory=dict)  # by row of the fake Slurm
    used: list[int] = field(default_factory=list)  # jobs in Slurm, tick by tick, while runs wait

    def go(self, seconds: float) -> None:
        """Let the launch tick and the jobs go on until all runs have ended, or for so long."""
        until = self.clock.at + seconds
        while self.clock.at < until and not set(states(self.context)) <= {State.DONE}:
            submit_queued(self.context)
            active = self.stage.jobs("state IN (?, ?, ?)", *ACTIVE)
            for job in active:
                lasted_s = self.clock.at - self.began_at.setdefault(job.row, self.clock.at)
                if lasted_s == LASTS_S - TEARDOWN_S:
                    self._finish(job.full_id)
                elif lasted_s >= LASTS_S:
                    self.stage.end(job, "COMPLETED")
            if self.began_at and State.QUEUED in states(self.context):
                self.used.append(len(active))
            self.clock.at += TICK_S

    def _finish(self, job_id: str) -> None:
        with snapshot(self.context.engine) as db:
            run_id = db.scalar(select(Job.run_id).where(Job.external_id == job_id))
        assert run_id is not None
        with transaction(self.context.engine) as db:
            run = db.get_one(Run, run_id)
            transitions.apply(db, run, None, transitions.Transition(State.DONE), ended_at=self.clock.now())

    @property
    def share(self) -> float:
        """The share of the limit in use while runs waited."""
        return sum(self.used) / len(self.used) / LIMIT


@pytest.fixture
def sweep(sqlite_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Sweep]:
    # without accounting sacctmgr shows no limit
    settings = Settings(carried=0, max_submit=LIMIT, accounting=0, hosts=10)
    stage = ClusterState.create(tmp_path / "slurm", settings)
    call_in_process(monkeypatch, tmp_path / "slurm")
    cluster = Slurm(rate_limit=SharedRateLimit(sqlite_engine, "slurm"))
    yield Sweep(Context(sqlite_engine, {"slurm": cluster}, tmp_path / "runs", local_ranks=1), stage, clock)
    stage.db.close()


def moves(context: Context, run_id: int) -> int:
    with snapshot(context.engine) as db:
        return db.scalar(select(func.count()).select_from(Move).where(Move.run_id == run_id)) or 0


@pytest.mark.ring("all")
def test_a_sweep_under_a_hidden_limit_uses_it_and_leaves_no_trace_of_refusals(
    sweep: Sweep, experiment: Experiment
) -> None:
    """Forces the fault: Slurm admits five jobs, says so by refusing an array of 40, and shows the limit nowhere."""
    run_ids = create_runs(sweep.context, experiment, 40)
    sweep.go(900)
    assert states(sweep.context) == [State.DONE] * 40
    assert sweep.share > 0.8, sweep.used
    assert {read(sweep.context, run_id).attempt for run_id in run_ids} == {1}
    assert {moves(sweep.context, run_id) for run_id in run_ids} == {4}, "queued, submitting, pending, done"
    submitted = [job.name for job in sweep.stage.jobs()]
    assert len(set(submitted)) == len({job.id for job in sweep.stage.jobs()})
    refused = sweep.stage.count_calls("sbatch") - len({job.id for job in sweep.stage.jobs()})
    assert refused <= 7, "four to find the limit, and a probe each three minutes"


@pytest.mark.ring("all")
def test_the_limit_that_one_worker_learned_holds_for_another_one(
    sweep: Sweep, experiment: Experiment, tmp_path: Path
) -> None:
    create_runs(sweep.context, experiment, 30)
    sweep.go(90)
    calls = sweep.stage.count_calls("sbatch")
    cluster = Slurm(rate_limit=SharedRateLimit(sweep.context.engine, "slurm"))
    other = Context(sweep.context.engine, {"slurm": cluster}, sweep.context.runs_folder, local_ranks=1)
    for _ in range(3):
        submit_queued(other)
    with snapshot(sweep.context.engine) as db:
        limit = db.get_one(SubmitLimit, ("slurm", "//"))
    assert limit.accepted == LIMIT
    live = len(sweep.stage.jobs("state IN (?, ?, ?)", *ACTIVE))
    assert live <= LIMIT
    assert sweep.stage.count_calls("sbatch") - calls <= 1


class Refusing(Far):
    """A cluster that refuses every submission."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.names, self.refused_sizes = error, list[str](), list[int]()

    def submit(self, job: JobRequest | ArrayRequest) -> str:
        self.names.append(job.name)
        self.refused_sizes.append(len(job.tasks) if isinstance(job, ArrayRequest) else 1)
        raise self.error


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "error",
    [
        SubmitLimitError("QOSMaxSubmitJobPerUserLimit"),
        QueueFullError("submissions disabled"),
        RateLimitedError("spent"),
    ],
)
def test_a_refused_submission_counts_as_no_attempt_and_writes_no_move(
    engine: Engine,
    experiment: Experiment,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    """Forces the fault: sbatch refuses again and again, or another worker has used the free call each time."""
    cluster = Refusing(error)
    context = Context(engine, {"slurm": cluster}, tmp_path / "runs", local_ranks=1)
    (run_id, *_) = create_runs(context, experiment, 3)
    for _ in range(8):
        submit_queued(context)
        clock.at += 700
    assert len(cluster.names) >= 4
    assert len(set(cluster.names)) == len(cluster.names), "no two submissions share a name"
    run = read(context, run_id)
    assert (run.state, run.attempt, run.current_job_id, moves(context, run_id)) == (State.QUEUED, 0, None, 1)
    monkeypatch.setattr(context.clusters["slurm"], "submit", Far().submit)
    clock.at += 700
    submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, moves(context, run_id)) == (State.PENDING, 1, 3)


def test_a_launcher_whose_lease_may_have_expired_uses_up_the_attempt(
    engine: Engine, experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: the refusal arrives so late that another worker may be taking the claims of the attempt."""
    cluster = Refusing(SubmitLimitError("full"))
    context = Context(engine, {"slurm": cluster}, tmp_path / "runs", local_ranks=1)
    (run_id,) = create_runs(context, experiment, 1)
    monkeypatch.setattr("scheduler.submit.folders.HELD_S", 0.0)
    submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, moves(context, run_id)) == (State.QUEUED, 1, 3)


def test_a_refusal_after_the_submission_was_given_up_changes_no_run(
    engine: Engine, experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: another worker gives the submission up while sbatch is about to refuse it."""
    cluster = Refusing(SubmitLimitError("full"))
    context = Context(engine, {"slurm": cluster}, tmp_path / "runs", local_ranks=1)
    (run_id,) = create_runs(context, experiment, 1)
    refuse = cluster.submit

    def slow(job: JobRequest | ArrayRequest) -> str:
        recover(context, IMMEDIATELY)
        return refuse(job)

    monkeypatch.setattr(cluster, "submit", slow)
    submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, moves(context, run_id)) == (State.QUEUED, 1, 3)


def test_a_full_queue_holds_up_no_other_partition(
    engine: Engine, experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: Slurm admits no job in one partition, and any number in another one."""
    far = Far()
    context = Context(engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)
    accept = far.submit

    def choose(job: JobRequest | ArrayRequest) -> str:
        if job.spec.resources.kind == "slurm" and job.spec.resources.partition == "debug":
            raise SubmitLimitError("QOSMaxSubmitJobPerUserLimit")
        return accept(job)

    monkeypatch.setattr(far, "submit", choose)
    for partition in ("debug", "gpu"):
        with transaction(engine) as db:
            need = {"kind": "slurm", "ranks_per_node": 2, "partition": partition}
            creation.create(db, experiment({"seed": [0, 1]}, resources=need))
    for _ in range(4):
        submit_queued(context)
    assert states(context) == [State.QUEUED, State.QUEUED, State.PENDING, State.PENDING]
    assert sizes(far) == [2]
