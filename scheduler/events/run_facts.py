"""The facts on which a run's fate is decided, made of its rows: here, and nowhere else."""

from dataclasses import fields
from typing import Any

from scheduler.outcome.facts import JobFacts, RunFacts
from store.tables.runs import Job, Run

_OF_JOB = [field.name for field in fields(JobFacts)]
_OF_RUN = [field.name for field in fields(RunFacts) if field.name not in ("job", "jobs")]


def facts_of(run: Run, job: Job) -> RunFacts:
    """Return the facts of a run as its rows have them now; `job`: of its current attempt. Its jobs must be loaded."""
    columns: dict[str, Any] = {name: getattr(run, name) for name in _OF_RUN}
    return RunFacts(**columns, job=facts_of_job(job), jobs=tuple(map(facts_of_job, run.jobs)))


def facts_of_job(job: Job) -> JobFacts:
    """Return the facts of a job as its row has them now."""
    return JobFacts(**{name: getattr(job, name) for name in _OF_JOB})
