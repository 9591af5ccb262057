"""Decisions on runs: pure functions from what is known to a transition. They use no clock, no file and no database."""

import re
from typing import Final, NamedTuple

from contract.folder.events import Event, Failed, Finished, Paused, Started, Stopped
from contract.folder.outputs.record import OutputsRecord
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import (
    Begun,
    Ending,
    JobEnded,
    Lost,
    RankFailed,
    ReportDamaged,
    RunFailed,
    RunPaused,
    RunStopped,
)
from contract.lifecycle.state import LIVE, State
from scheduler.outcome.evidence import Claim, Evidence
from scheduler.outcome.exit_cause import (
    SUSPECTED,
    exit_cause,
    may_report_more,
    reported_failure_cause,
    reported_pause_cause,
)
from scheduler.outcome.facts import RunFacts
from scheduler.outcome.outputs import missing_output
from scheduler.outcome.ran_for import reported_seconds
from scheduler.outcome.retry import Outcome, decide_retry, refuse_retry
from store.transitions import JobExit, Transition


class Wait(NamedTuple):
    """Nothing is decided yet: the run may still report why its job ended."""


WAIT: Final = Wait()


def decide(run: RunFacts, evidence: Evidence) -> Outcome | Wait | None:
    """Return what follows from the end of a run's job; None if the run has ended already."""
    if run.state not in LIVE:
        return None
    if may_report_more(run.job, evidence):
        return WAIT
    if is_done_without_report(run, evidence):
        return _decide_on_finish(run, evidence.outputs, ReportDamaged(steps=run.step))
    cause = exit_cause(run, evidence)
    return decide_retry(run, cause, _explain(run, evidence, cause), evidence.report)


def decide_on_event(run: RunFacts, event: Event, outputs: OutputsRecord | None = None) -> Outcome | None:
    """Return what follows from an event that a run reports; None if nothing does. `outputs`: of a run that finished."""
    if event.attempt != run.attempt or run.state not in LIVE:
        return None
    match event:
        case Started() if run.state is State.PENDING:
            return Outcome(Transition(State.RUNNING))
        case Paused(step=step, reason=message) if run.stop_requested_at:
            return decide_retry(run, ExitCause.PREEMPTED, RunPaused(step=step, message=message), None)
        case _ if run.state is State.PAUSED:
            return None  # its end is reported: repeated or followed by another report, the run waits for its job to end
        case Finished():
            return _decide_on_finish(run, outputs)
        case Failed():
            return _decide_on_failure(run, event)
        case Stopped(signal=signal) if not run.stop_requested_at:
            return Outcome(Transition(State.PAUSED, RunStopped(signal=signal), reported_cause=ExitCause.PREEMPTED))
        case Paused(step=step, reason=message):
            cause = reported_pause_cause(run, event)
            reason = RunPaused(step=step, message=message, cause=cause, trained_s=reported_seconds(run.job, event))
            return Outcome(Transition(State.PAUSED, reason, reported_cause=cause))
    return None


def _decide_on_finish(run: RunFacts, record: OutputsRecord | None, damaged: ReportDamaged | None = None) -> Outcome:
    """End the run. It fails without an output of its spec: a program that ended well would leave it out again."""
    reason = missing_output(run.spec.get("outputs") or {}, record)
    if reason is not None:
        return Outcome(Transition(State.FAILED, reason, JobExit(ExitCause.FAILURE, reason)))
    return Outcome(Transition(State.DONE, damaged, JobExit(ExitCause.DONE, damaged)))


def _decide_on_failure(run: RunFacts, failed: Failed) -> Outcome:
    """End the run, or pause it until its job has ended if it may be retried."""
    cause, reason = reported_failure_cause(run.job, failed.failure), _run_failed(failed)
    may_retry = cause is SUSPECTED or refuse_retry(run, cause, reason) is None
    if may_retry and not run.stop_requested_at:
        return Outcome(Transition(State.PAUSED, reason, reported_cause=cause))
    return decide_retry(run, cause, reason, None)


def _run_failed(failed: Failed) -> RunFailed:
    return RunFailed(message=failed.reason, failure=failed.failure)


def _explain(run: RunFacts, evidence: Evidence, cause: ExitCause) -> Ending:
    """Return what is known of the end of a job whose run reported none itself."""
    if evidence.rank_failure is not None and cause is not ExitCause.CANCELLED:  # ranks fail because the job is ended
        return RankFailed(message=evidence.rank_failure, failure=evidence.rank_failure_kind)
    end = evidence.gone.end.model_copy(update={"at": None})  # equal ends have equal reasons
    if cause is ExitCause.PREEMPTED and evidence.has_started_again:
        end = JobEnd(kind=EndKind.REQUEUED)  # the cluster reports how the second start left, which the claim refused
    left_by_itself = evidence.gone.cause in (ExitCause.DONE, ExitCause.FAILURE)
    is_explained = evidence.failure is not None or evidence.free_bytes is not None
    is_damaged = evidence.damaged_end is not None and left_by_itself and not is_explained
    if evidence.folder_gone or is_damaged:
        # a folder that is gone says nothing of whether the attempt had begun, and what is stored does
        has_begun = evidence.claim is Claim.HELD or run.state is not State.PENDING
        lost = Lost.FOLDER if evidence.folder_gone else Lost.LAST_LINE
        begun = Begun.CLAIMED if has_begun else Begun.NEVER
        return JobEnded(end=end, begun=begun, lost=lost, stored_step=run.step, steps=run.steps or None)
    if evidence.claim is Claim.HELD:
        free = None if evidence.failure else evidence.free_bytes
        return JobEnded(end=end, begun=Begun.CLAIMED, failure=evidence.failure, free_bytes=free)
    if evidence.claim is Claim.ABANDONED and run.job.pack_member is not None:
        return JobEnded(end=end, begun=Begun.PART_NEVER)
    return JobEnded(end=end, begun=Begun.NEVER, failure=evidence.failure)


OF_ITSELF = (EndKind.EXITED, EndKind.PART_EXITED)  # with exit code 0
FINISHED = "finished"
_KIND = re.compile(rb'"kind"\s*:\s*"([a-z]*)("?)')


def is_done_without_report(run: RunFacts, evidence: Evidence) -> bool:
    """Return whether nothing but the last line is missing: the job completed, and all steps are stored.

    A line that was another report than that of the end contradicts it, and so do fewer steps. A run whose number of
    steps is not known is done only by a line that shows that it was that report.
    """
    end = evidence.gone.end
    completed = end.kind is EndKind.COMPLETED or (end.kind in OF_ITSELF and end.exit_code == 0)
    if evidence.damaged_end is None or run.job.reported_cause is not None or evidence.shows_failure or not completed:
        return False
    kind = _KIND.search(evidence.damaged_end)
    if kind is None:
        return 0 < run.steps <= run.step
    text, is_whole = kind[1].decode(), bool(kind[2])
    is_finish = text == FINISHED if is_whole else bool(text) and FINISHED.startswith(text)
    return is_finish and run.step >= run.steps
