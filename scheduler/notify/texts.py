"""The sentences of messages. The reason of a run's state is shown as its own words, where it has any."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from contract.api.notify.message import MessageRun
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.notification import NotifyEvent
from contract.lifecycle.reason import (
    CodeUnavailable,
    CollectionFailed,
    FolderNotWritable,
    JobEnded,
    OutputMissing,
    Reason,
    reason_adapter,
)
from contract.lifecycle.state import State
from store.notify.divergences import CAUSE
from store.notify.progress import Progress

MAX_LINES = 10  # runs that the text names
NOT_FINITE, STALL = "not_finite", "stall"
CAUSES = {
    ExitCause.PREEMPTED: "the cluster gave its resources to another job",
    ExitCause.NODE_FAILURE: "a node failed",
    ExitCause.TIME_LIMIT: "it reached its time limit",
    ExitCause.OUT_OF_MEMORY: "out of memory",
    ExitCause.LOST: "the cluster no longer lists its job",
}
HAPPENED = {
    NotifyEvent.FAILURE: "failed",
    NotifyEvent.PREEMPTION: "lost its resources to another job, and goes on later",
    NotifyEvent.ANOMALY: "shows an anomaly",
}


def event_title(event: NotifyEvent, progress: Progress, runs: Sequence[MessageRun], total: int) -> str:
    """Return the message's first line."""
    experiment = f"experiment {progress.id} ({progress.name})"
    if event is NotifyEvent.END:
        return f"{experiment.capitalize()[0]}{experiment[1:]} has ended: {counts_text(progress.counts)}"
    if event is NotifyEvent.BUDGET:
        return f"The search of {experiment} has used its budget"
    one = runs[0]
    if total == 1:
        who = f"Step {one.step}" if one.id is None else f"Run {one.id}"
        return f"{who} of {experiment} {HAPPENED[event]}"
    return f"{total} runs of {experiment}: {_plural(event)}"


def event_text(event: NotifyEvent, progress: Progress, runs: Sequence[MessageRun], total: int) -> str:
    """Return the lines below the first one."""
    lines = [run_line(run) for run in runs[:MAX_LINES]] if event not in (NotifyEvent.END, NotifyEvent.BUDGET) else []
    if lines and total > len(lines):
        lines.append(f"and {total - len(lines)} more")
    if event is not NotifyEvent.END:
        lines.append(f"Runs now: {counts_text(progress.counts)}.")
    return "\n".join(lines)


def run_line(run: MessageRun) -> str:
    """Return what happened to one run."""
    who = f"step {run.step}" if run.id is None else f"run {run.id}"
    return f"{who}: {run.reason or run.cause or 'no reason is known'}"


def counts_text(counts: Mapping[State, int]) -> str:
    """Return how many runs are in which state."""
    return ", ".join(f"{counts[state]} {state.value}" for state in State if counts.get(state)) or "no runs"


def reason_text(detail: Mapping[str, Any]) -> str:
    """Return the words of an occurrence's reason."""
    if detail.get("cause") == NOT_FINITE:
        return f"no finite number: {detail.get('text', '')}"
    if detail.get("cause") == CAUSE:
        return f"it has left the curves of its group: {detail.get('text', '')}"
    if "text" in detail:
        return str(detail["text"])
    try:
        reason = reason_adapter.validate_python(detail["reason"]) if "reason" in detail else None
    except ValidationError:  # of a later version
        reason = None
    words = "" if reason is None else _words(reason)
    cause = str(detail.get("cause", ""))
    return words or (CAUSES.get(ExitCause(cause), cause) if cause in {*ExitCause} else "")


def _words(reason: Reason) -> str:
    """Return the words that a run, a rank or the cluster gave; empty without any."""
    ending = getattr(reason, "after", None) or reason
    match ending:
        case JobEnded(failure=failure, end=end):
            return failure or f"its job ended ({end.detail or end.kind.value})"
        case CollectionFailed(error=error) | FolderNotWritable(error=error) | CodeUnavailable(error=error):
            return error
        case OutputMissing(name=name, problem=problem):
            return f"output {name}: {problem}"
    return str(getattr(ending, "message", None) or getattr(ending, "text", None) or "")


def _plural(event: NotifyEvent) -> str:
    return {
        NotifyEvent.FAILURE: "failed",
        NotifyEvent.PREEMPTION: "lost their resources to other jobs, and go on later",
        NotifyEvent.ANOMALY: "anomalies",
    }[event]
