"""Reasons of decisions: the best account of the end of an attempt, and why the run is not retried."""

from typing import Any

import pytest

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import (
    Begun,
    JobEnded,
    LimitTooShort,
    NoProgress,
    RankFailed,
    Retried,
    RetriesExhausted,
    RunPaused,
    RunStopped,
    StopRequested,
    StopSource,
    Suspended,
)
from contract.lifecycle.state import State
from scheduler.outcome.decide import decide
from scheduler.outcome.evidence import Claim
from scheduler.outcome.retry import Outcome
from tests.testing.decisions import AT, make_evidence, make_job, make_run

PAUSED = RunPaused(step=5, message="SIGTERM to rank 1 on b")


def ended(kind: EndKind, begun: Begun, **fields: Any) -> JobEnded:
    return JobEnded(end=JobEnd(kind=kind), begun=begun, **fields)


EARLIER = {"attempt": 1, "exit_cause": ExitCause.TIME_LIMIT, "exit_step": 5}
OUT_OF_MEMORY_BEFORE = EARLIER | {"exit_cause": ExitCause.OUT_OF_MEMORY}
# the first attempt was killed at step 175, and the ones after it repeat steps
BEHIND: list[dict[str, Any]] = [
    {"attempt": 1, "exit_cause": ExitCause.NODE_FAILURE, "exit_step": 175, "reached_step": 175},
    {"attempt": 2, "exit_cause": ExitCause.TIME_LIMIT, "exit_step": 175, "reached_step": 147},
    {"attempt": 3, "reached_step": 147},
]
AT_LIMIT_JOB = {"attempt": 2, "reported_cause": ExitCause.TIME_LIMIT}
SLOW = {"attempt": 2, "jobs": [EARLIER], "step": 6}


def at_limit(trained_s: float) -> RunPaused:
    message = "SIGUSR2 to rank 0 on a"
    return RunPaused(step=6, message=message, cause=ExitCause.TIME_LIMIT, trained_s=trained_s)


def paused_at_limit(before_s: float, trained_s: float) -> dict[str, Any]:
    """Return a run of which two attempts paused at the limit of an hour, with the seconds for which they trained."""
    jobs = [EARLIER | {"exit_reason": at_limit(before_s)}]
    return SLOW | {"jobs": jobs, "steps": 20, "state": State.PAUSED, "reason": at_limit(trained_s)}


NON_ZERO = JobEnd(kind=EndKind.FAILED, detail="NonZeroExitCode")
STOPPED = RunStopped(signal="SIGTERM")
PREEMPTED_JOB = {"reported_cause": ExitCause.PREEMPTED}
UNLISTED = ended(EndKind.UNLISTED, Begun.CLAIMED)
AT_LIMIT = ended(EndKind.TIME_LIMIT, Begun.CLAIMED)
NO_MEMORY = ended(EndKind.OUT_OF_MEMORY, Begun.CLAIMED)


@pytest.mark.parametrize(
    ("run", "job", "cause", "evidence", "state", "reason"),
    [
        pytest.param(
            *({}, {}, "lost", {}, State.QUEUED, Retried(after=UNLISTED, attempt=2)),
            id="retried: the job's end is the reason",
        ),
        pytest.param(
            *({"state": State.PENDING}, {}, "lost", {"claim": Claim.NONE}, State.QUEUED),
            Retried(after=ended(EndKind.UNLISTED, Begun.NEVER), attempt=2),
            id="no process has begun the attempt",
        ),
        pytest.param(
            *({}, {"pack_member": 1}, "lost", {"claim": Claim.ABANDONED}, State.QUEUED),
            Retried(after=ended(EndKind.UNLISTED, Begun.PART_NEVER), attempt=2),
            id="the part of a packed job has not begun",
        ),
        pytest.param(
            *({}, {}, "lost", {"rank_failure": "rank 1: no"}, State.QUEUED),
            Retried(after=RankFailed(message="rank 1: no"), attempt=2),
            id="a rank's note comes before the job's end",
        ),
        pytest.param(
            *({}, {}, "out_of_memory", {"failure": "rank 1: Killed", "free_bytes": 9}, State.FAILED),
            ended(EndKind.OUT_OF_MEMORY, Begun.CLAIMED, failure="rank 1: Killed"),
            id="no retry: the failure in the log explains the end",
        ),
        pytest.param(
            *({}, {}, "out_of_memory", {"free_bytes": 9}, State.FAILED),
            ended(EndKind.OUT_OF_MEMORY, Begun.CLAIMED, free_bytes=9),
            id="nothing but a full disk explains the end",
        ),
        pytest.param(
            *({"state": State.PAUSED, "reason": PAUSED}, {}, "lost", {"rank_failure": "rank 1: no"}, State.QUEUED),
            Retried(after=PAUSED, attempt=2),
            id="a paused run's own report comes first",
        ),
        pytest.param(
            *({"stop_requested_at": AT, "stop_source": StopSource.SHUTDOWN}, {}, "lost", {}, State.QUEUED),
            Suspended(after=UNLISTED, attempt=2),
            id="the shutdown of the service is the reason, and counts as no retry",
        ),
        pytest.param(
            *({"stop_requested_at": AT, "stop_source": StopSource.USER}, {}, "lost", {}, State.CANCELLED),
            StopRequested(),
            id="a person asked for the stop",
        ),
        pytest.param(
            *({}, {}, "cancelled", {}, State.CANCELLED, ended(EndKind.CANCELLED, Begun.CLAIMED)),
            id="cancelled in the cluster",
        ),
        pytest.param(
            *({"state": State.PAUSED, "reason": PAUSED}, {}, "cancelled", {}, State.CANCELLED),
            ended(EndKind.CANCELLED, Begun.CLAIMED, paused_step=5),
            id="cancelled in the cluster: the pause on its signal is not the reason",
        ),
        pytest.param(
            *({}, {}, "cancelled", {"rank_failure": "rank 1: killed"}, State.CANCELLED),
            ended(EndKind.CANCELLED, Begun.CLAIMED),
            id="cancelled in the cluster: the failure of a rank is not the reason",
        ),
        pytest.param(
            *({"attempt": 2, "jobs": [EARLIER]}, {"attempt": 2}, "time_limit", {}, State.FAILED),
            NoProgress(after=AT_LIMIT, step=5),
            id="the second attempt reached its time limit at the same step",
        ),
        pytest.param(
            *({"attempt": 2, "jobs": [EARLIER], "step": 6}, {"attempt": 2}, "time_limit", {}, State.QUEUED),
            Retried(after=AT_LIMIT, attempt=3),
            id="the second attempt got one step further",
        ),
        pytest.param(
            *({"attempt": 3, "jobs": BEHIND, "step": 175}, {"attempt": 3}, "time_limit", {}, State.FAILED),
            NoProgress(after=AT_LIMIT, step=147),
            id="two attempts in a row reached the same step, which an earlier one had passed",
        ),
        pytest.param(
            *({"attempt": 3, "jobs": [*BEHIND[:2], BEHIND[2] | {"reached_step": 120}], "step": 175}, {"attempt": 3}),
            *("time_limit", {}, State.FAILED, NoProgress(after=AT_LIMIT, step=147, reached=120)),
            id="the attempt reached less than the one before",
        ),
        pytest.param(
            *({"attempt": 3, "jobs": [*BEHIND[:2], BEHIND[2] | {"reached_step": 172}], "step": 175, "steps": 200},),
            *({"attempt": 3}, "time_limit", {}, State.QUEUED, Retried(after=AT_LIMIT, attempt=4)),
            id="the attempt got further than the one before, and not as far as the first",
        ),
        pytest.param(
            *(SLOW | {"steps": 600}, {"attempt": 2}, "time_limit", {}, State.FAILED),
            LimitTooShort(after=AT_LIMIT, minutes=60, steps=5, steps_left=594, attempts=119, retries_left=99),
            id="the steps that remain need more attempts than the spec allows",
        ),
        pytest.param(
            *(SLOW | {"steps": 500}, {"attempt": 2}, "time_limit", {}, State.QUEUED),
            Retried(after=AT_LIMIT, attempt=3),
            id="the steps that remain need no more attempts than the spec allows",
        ),
        pytest.param(
            *(paused_at_limit(300.0, 359.0), AT_LIMIT_JOB, "failure", {}, State.FAILED),
            LimitTooShort(after=at_limit(359.0), minutes=60, steps=5, steps_left=14, trained_s=359.0),
            id="two attempts in a row trained for less than a tenth of the limit",
        ),
        pytest.param(
            *(paused_at_limit(300.0, 361.0), AT_LIMIT_JOB, "failure", {}, State.QUEUED),
            Retried(after=at_limit(361.0), attempt=3),
            id="one attempt trained for less than a tenth of the limit",
        ),
        pytest.param(
            {
                "attempt": 2,
                "jobs": [EARLIER | {"exit_cause": ExitCause.OUT_OF_MEMORY}],
                "retries": {"out_of_memory": 1},
            },
            *({"attempt": 2}, "out_of_memory", {}, State.FAILED),
            RetriesExhausted(after=NO_MEMORY, cause=ExitCause.OUT_OF_MEMORY, retries=1),
            id="the only retry is used up",
        ),
        pytest.param(
            {"attempt": 2, "jobs": [EARLIER], "retries": {"out_of_memory": 1}},
            *({"attempt": 2}, "out_of_memory", {}, State.QUEUED, Retried(after=NO_MEMORY, attempt=3)),
            id="each exit cause has its own retries",
        ),
        pytest.param(
            *({}, {}, "failure", {"damaged_end": b'{"att', "free_bytes": 0}, State.QUEUED),
            Retried(after=JobEnded(end=NON_ZERO, begun=Begun.CLAIMED, free_bytes=0), attempt=2),
            id="a full disk explains a torn line",
        ),
        pytest.param(
            *({}, {}, "preempted", {"damaged_end": b'{"att'}, State.QUEUED),
            Retried(after=ended(EndKind.PREEMPTED, Begun.CLAIMED), attempt=2),
            id="a preemption explains a torn line",
        ),
        pytest.param(
            *({}, {}, "failure", {"has_started_again": True, "claim": Claim.ABANDONED}, State.QUEUED),
            Retried(after=ended(EndKind.REQUEUED, Begun.NEVER), attempt=2),
            id="a requeued job left at its second start",
        ),
        pytest.param(
            *({"state": State.PAUSED, "reason": STOPPED}, PREEMPTED_JOB, "failure", {}, State.QUEUED),
            Retried(after=STOPPED, attempt=2),
            id="ranks left on a signal, and Slurm calls it a failure",
        ),
        pytest.param(
            *({"state": State.PAUSED, "reason": STOPPED}, PREEMPTED_JOB, "time_limit", {}, State.QUEUED),
            Retried(after=AT_LIMIT, attempt=2),
            id="ranks left on a signal, and the cluster knows why it was sent",
        ),
        pytest.param(
            *({"state": State.PAUSED, "reason": STOPPED}, PREEMPTED_JOB, "cancelled", {}, State.CANCELLED),
            ended(EndKind.CANCELLED, Begun.CLAIMED),
            id="ranks left on the signal of scancel",
        ),
    ],
)
def test_the_reason_is_the_best_account_of_the_end(
    run: dict[str, Any], job: dict[str, Any], cause: str, evidence: dict[str, Any], state: State, reason: object
) -> None:
    facts = run | {"job": make_job(**job), "jobs": [make_job(**earlier) for earlier in run.get("jobs", [])]}
    outcome = decide(make_run(**facts), make_evidence(ExitCause(cause), **evidence))
    assert isinstance(outcome, Outcome)
    assert (outcome.transition.new, outcome.transition.reason) == (state, reason)


def test_a_requeued_job_counts_as_preempted() -> None:
    """A job that leaves at its second start has not failed, and its retry takes no failure of the spec's retries."""
    evidence = make_evidence(ExitCause.FAILURE, has_started_again=True)
    outcome = decide(make_run(retries={"failure": 0}), evidence)
    assert isinstance(outcome, Outcome)
    assert outcome.transition.exit is not None
    assert (outcome.transition.new, outcome.transition.exit.cause) == (State.QUEUED, ExitCause.PREEMPTED)
