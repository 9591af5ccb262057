"""What decisions know of a run and its jobs: values that nothing changes (scheduler/events/apply.py makes them)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import Reason, StopSource
from contract.lifecycle.state import State


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """A job of a run. The columns of the table of jobs with these names say what each field is."""

    attempt: int
    pack_member: int | None = None
    hosts: Sequence[str] = ()
    started_at: datetime | None = None
    clock_shift_s: float = 0.0
    stop_requested_at: datetime | None = None
    reported_cause: ExitCause | None = None
    exit_cause: ExitCause | None = None
    exit_reason: Reason | None = None
    exit_step: int | None = None
    reached_step: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """A run at the moment of a decision. The columns of the table of runs with these names say what each field is."""

    spec: Mapping[str, Any]
    cluster: str
    state: State
    job: JobFacts  # of the current attempt
    attempt: int = 1
    jobs: Sequence[JobFacts] = ()  # of all attempts
    reason: Reason | None = None
    step: int = 0
    steps: int = 0
    excluded: Sequence[str] = ()
    retries_after: int = 0
    stop_requested_at: datetime | None = None
    stop_source: StopSource | None = None
