"""Retry: what becomes of a run whose attempt has ended. It is queued again as often as its spec allows, or it ends."""

import math
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from contract.api.cluster_report import ClusterReport
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import (
    Ending,
    FreeText,
    JobEnded,
    Reason,
    Retried,
    RetriesExhausted,
    RunFailed,
    RunPaused,
    RunStopped,
    StopRequested,
    StopSource,
    Suspended,
)
from contract.lifecycle.state import State
from contract.spec.any_run import read_run
from contract.spec.checks.cluster import partition_limits
from contract.spec.resources import Slurm
from contract.spec.retry import RetryPolicy
from scheduler.outcome.excluded_hosts import next_excluded
from scheduler.outcome.facts import RunFacts
from scheduler.outcome.time_limit import refuse_after_time_limit
from store.transitions import JobExit, Transition

WITHOUT_DELAY = (ExitCause.PREEMPTED, ExitCause.TIME_LIMIT)  # the cluster's own queue delays these


class Retry(NamedTuple):
    """How the run is queued again."""

    wait: timedelta
    excluded: list[str]
    ends_request: bool = False  # of a stop, which the run has followed
    resources: Mapping[str, int] = MappingProxyType({})  # fields of the spec's resources that grow


class Outcome(NamedTuple):
    """A transition, and how the run is queued again where it is."""

    transition: Transition
    retry: Retry | None = None


def decide_retry(run: RunFacts, cause: ExitCause, why: Ending, report: ClusterReport | None) -> Outcome:
    """Return the outcome of an attempt that ended for `cause`. A paused run's own account comes before `why`."""
    ending = _own_account(run, why) or why
    if cause is ExitCause.CANCELLED:
        ending = _cancellation(run, why)
    if run.stop_requested_at and run.stop_source is StopSource.SHUTDOWN:
        suspended = Suspended(after=ending, attempt=run.attempt + 1)
        transition = Transition(State.QUEUED, suspended, JobExit(ExitCause.SHUTDOWN, ending))
        return Outcome(transition, Retry(timedelta(0), list(run.excluded), ends_request=True))
    if run.stop_requested_at:
        source = run.stop_source or StopSource.USER
        exit_ = JobExit(ExitCause.CANCELLED, ending)
        return Outcome(Transition(State.CANCELLED, StopRequested(source=source), exit_))
    exit_ = JobExit(cause, ending)
    if cause is ExitCause.CANCELLED:
        return Outcome(Transition(State.CANCELLED, ending, exit_))
    if (refusal := refuse_retry(run, cause, ending)) is not None:
        return Outcome(Transition(State.FAILED, refusal, exit_))
    is_restart = cause is ExitCause.LOST and run.cluster == "local"  # of this machine, which has room at once
    wait_s = 0.0 if cause in WITHOUT_DELAY or is_restart else _policy(run).delay_s(_count(run, cause))
    excluded = next_excluded(run, report, a_host_failed=cause is ExitCause.NODE_FAILURE)
    grown = grow_resources(run, cause, report)
    transition = Transition(State.QUEUED, Retried(after=ending, attempt=run.attempt + 1, **grown), exit_)
    return Outcome(transition, Retry(timedelta(seconds=wait_s), excluded, resources=grown))


def _own_account(run: RunFacts, why: Ending) -> Ending | None:
    """Return what a paused run reported of its end; None without a report, or where the cluster says more."""
    if run.state is not State.PAUSED:
        return None
    if isinstance(run.reason, RunStopped):  # who sent the signal, only the cluster knows
        is_known = isinstance(why, JobEnded) and why.end.kind not in (EndKind.FAILED, EndKind.PART_EXITED)
        return None if is_known else run.reason
    return run.reason if isinstance(run.reason, RunPaused | RunFailed | FreeText) else None


def _cancellation(run: RunFacts, why: Ending) -> Ending:
    """Return that the job was cancelled in the cluster; a pause of the run is only what followed from it."""
    if isinstance(why, JobEnded) and isinstance(run.reason, RunPaused) and run.state is State.PAUSED:
        return why.model_copy(update={"paused_step": run.reason.step, "failure": None})
    return why


def refuse_retry(run: RunFacts, cause: ExitCause, ending: Ending) -> Reason | None:
    """Return why the run is not retried; None if it is."""
    before, most = _count(run, cause), _policy(run).max_retries(cause)
    if before >= most:
        return RetriesExhausted(after=ending, cause=cause, retries=before) if before else ending
    if cause is not ExitCause.TIME_LIMIT or _policy(run).growth(cause).minutes > 1:  # a longer limit may help
        return None
    return refuse_after_time_limit(run, ending, most - before)


def _count(run: RunFacts, cause: ExitCause) -> int:
    """Return how many attempts before the current one ended for `cause`, since somebody last asked for a start."""
    return sum(job.exit_cause == cause and run.retries_after < job.attempt < run.attempt for job in run.jobs)


def _policy(run: RunFacts) -> RetryPolicy:
    return RetryPolicy.model_validate(run.spec.get("retries", {}))


def grow_resources(run: RunFacts, cause: ExitCause, report: ClusterReport | None) -> dict[str, Any]:
    """Return the fields of the resources that change for the next attempt, with their new values; empty for none."""
    spec = read_run(run.spec)
    need, growth = spec.resources, spec.retries.growth(cause)
    if not isinstance(need, Slurm):
        return {}
    most = partition_limits(need, report) if report else {}
    wanted = {
        "memory_gb": need.memory_gb and math.ceil(need.memory_gb * growth.memory),
        "minutes": math.ceil(need.minutes * growth.minutes),
    }
    present = {"memory_gb": need.memory_gb, "minutes": need.minutes}
    bounded = {name: min(value, most.get(name, value)) for name, value in wanted.items() if value}
    return {name: value for name, value in bounded.items() if value > (present[name] or 0)}
