"""Sentences for the reasons of a run's state."""

from typing import assert_never

from api.sentences.job_end import job_end_sentence
from contract.lifecycle.reason import (
    Begun,
    CollectionFailed,
    ExtensionRequested,
    FolderNotWritable,
    FoundByName,
    FreeText,
    JobEnded,
    NoProgress,
    RankFailed,
    Reason,
    Retried,
    RetriesExhausted,
    RetryRequested,
    RunFailed,
    RunPaused,
    StopRequested,
    StopSource,
    SubmissionDeferred,
    SubmissionLost,
    SubmissionRefused,
    SubmissionUnconfirmed,
)


def reason_sentence(reason: Reason) -> str:
    """Return one sentence without a full stop."""
    match reason:
        case FreeText(text=text):
            return text
        case StopRequested(source=source):
            return "stopped on request" if source is StopSource.USER else "the service on this machine was shut down"
        case RunPaused(step=step, message=message):
            return f"paused at step {step}: {message}"
        case RunFailed(message=message) | RankFailed(message=message) | SubmissionDeferred(message=message):
            return message
        case CollectionFailed(error=error):
            return f"the service could not read or store what the run wrote ({error}), and ended it"
        case JobEnded():
            return _job_ended(reason)
        case Retried() | RetriesExhausted() | NoProgress():
            return f"{reason_sentence(reason.after)}; {_what_follows(reason)}"
        case RetryRequested() | ExtensionRequested():
            return _requested(reason)
        case _:
            return _submission(reason)


def _requested(reason: RetryRequested | ExtensionRequested) -> str:
    by = f"{reason.by} asked" if reason.by else "somebody asked"
    wish = f"it to go on to epoch {reason.epochs}" if isinstance(reason, ExtensionRequested) else "for a retry"
    removed = "; the points of its earlier attempts were removed before" if reason.points_removed else ""
    return f"{by} {wish}{removed}"


def _submission(
    reason: FolderNotWritable | SubmissionRefused | SubmissionUnconfirmed | SubmissionLost | FoundByName,
) -> str:
    match reason:
        case FolderNotWritable(folder=folder, error=error):
            return f"the {folder} folder cannot be written: {error}"
        case SubmissionRefused(cluster=cluster, message=message):
            return f"{cluster} refused the job: {message}"
        case SubmissionUnconfirmed(message=message):
            return f"{message}; the service is finding out whether the cluster has the job"
        case SubmissionLost(message=message):
            return f"its submission was lost: {message}" if message else "its submission was lost"
        case FoundByName():
            return "the cluster lists the job by its name"
        case _:
            assert_never(reason)


def _job_ended(reason: JobEnded) -> str:
    end = job_end_sentence(reason.end)
    match reason.begun:
        case Begun.PART_NEVER:
            return f"{end} before the run's turn in the job came"
        case Begun.NEVER:
            return f"{end}; training never started{f': {reason.failure}' if reason.failure else ', see the log'}"
        case Begun.CLAIMED if reason.failure:
            return f"{end}; {reason.failure}"
        case Begun.CLAIMED:
            full = "" if reason.free_bytes is None else f"; the folder's disk is full ({reason.free_bytes} bytes free)"
            return f"{end}, and the run reported no reason{full}"
        case _:
            assert_never(reason.begun)


def _what_follows(reason: Retried | RetriesExhausted | NoProgress) -> str:
    match reason:
        case Retried(attempt=attempt):
            return f"attempt {attempt} follows"
        case RetriesExhausted(cause=cause, retries=retries):
            times = "once" if retries == 1 else f"{retries} times"
            return f"the run was retried {times} after {cause.replace('_', ' ')}, which is all that its spec allows"
        case NoProgress(step=step):
            return f"the attempt before also reached step {step}, so another attempt would not help"
        case _:
            assert_never(reason)
