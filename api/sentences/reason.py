"""Sentences for the reasons of a run's state."""

from typing import assert_never

from api.sentences.job_end import job_end_sentence
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import (
    Begun,
    CodeUnavailable,
    CollectionFailed,
    ExtensionRequested,
    FolderNotWritable,
    FolderRestored,
    FoundByName,
    FoundInFolder,
    FreeText,
    JobEnded,
    LimitTooShort,
    Lost,
    NoProgress,
    OutputMissing,
    RankFailed,
    Reason,
    Recorded,
    ReportDamaged,
    Retried,
    RetriesExhausted,
    RetryRequested,
    RunFailed,
    RunPaused,
    RunStopped,
    StopRequested,
    StopSource,
    SubmissionDeferred,
    SubmissionLost,
    SubmissionRefused,
    SubmissionUnconfirmed,
    Suspended,
    TakenFrom,
)

Submission = (
    FolderNotWritable
    | CodeUnavailable
    | SubmissionRefused
    | SubmissionUnconfirmed
    | SubmissionLost
    | FoundByName
    | FolderRestored
    | FoundInFolder
)

STOPPED_BY = {
    StopSource.USER: "stopped on request",
    StopSource.SHUTDOWN: "the service on this machine was shut down",
    StopSource.SEARCH: "the search stopped the trial, and it can go on from its checkpoint",
}


def reason_sentence(reason: Reason) -> str:
    """Return one sentence without a full stop."""
    match reason:
        case FreeText(text=text):
            return text
        case StopRequested(source=source):
            return STOPPED_BY[source]
        case RunPaused() | RunStopped():
            return _on_signal(reason)
        case RunFailed(message=message) | RankFailed(message=message) | SubmissionDeferred(message=message):
            return message
        case CollectionFailed(error=error):
            return f"the service could not read or store what the run wrote ({error}), and ended it"
        case JobEnded():
            return _job_ended(reason)
        case Retried() | Suspended() | RetriesExhausted() | NoProgress() | LimitTooShort():
            return f"{reason_sentence(reason.after)}; {_what_follows(reason)}"
        case ReportDamaged() | OutputMissing() | TakenFrom() | RetryRequested() | ExtensionRequested() | Recorded():
            return (
                _at_end(reason) if isinstance(reason, ReportDamaged | OutputMissing | TakenFrom) else _by_client(reason)
            )
        case _:
            return _submission(reason)


def _on_signal(reason: RunPaused | RunStopped) -> str:
    if isinstance(reason, RunStopped):
        return f"{reason.signal} asked the program to end, as at a preemption, and it reported no saved step"
    if reason.cause is ExitCause.TIME_LIMIT:
        return f"paused at step {reason.step}, before the job's time limit ({reason.message})"
    return f"paused at step {reason.step}: {reason.message}"


def _by_client(reason: RetryRequested | ExtensionRequested | Recorded) -> str:
    if isinstance(reason, Recorded):
        return f"recorded from {reason.source}: this service did not carry the run out"
    by = f"{reason.by} asked" if reason.by else "somebody asked"
    wish = f"it to go on to epoch {reason.epochs}" if isinstance(reason, ExtensionRequested) else "for a retry"
    removed = "; the points of its earlier attempts were removed before" if reason.points_removed else ""
    return f"{by} {wish}{removed}"


def _at_end(reason: ReportDamaged | OutputMissing | TakenFrom) -> str:
    if isinstance(reason, ReportDamaged):
        stored = f"its last step, {reason.steps}, is stored" if reason.steps else "it reported no steps"
        return f"the job completed and {stored}; only the run's report of its end is damaged"
    if isinstance(reason, TakenFrom):
        return f"taken from run {reason.run}, which has an equal spec, equal code and equal inputs"
    others = f"; so are {reason.others} other outputs" if reason.others > 1 else ""
    others = "; so is another output" if reason.others == 1 else others
    return f"the output '{reason.name}' ({reason.path}) is missing: {reason.problem}{others}"


def _submission(
    reason: Submission,
) -> str:
    match reason:
        case FolderNotWritable(folder=folder, error=error):
            return f"the {folder} folder cannot be written: {error}"
        case CodeUnavailable(code=code, error=error):
            return f"the code snapshot {code[:12]} cannot be made into a folder: {error}"
        case SubmissionRefused(cluster=cluster, message=message):
            return f"{cluster} refused the job: {message}"
        case SubmissionUnconfirmed(message=message):
            return f"{message}; the service is finding out whether the cluster has the job"
        case SubmissionLost(message=message):
            return f"its submission was lost: {message}" if message else "its submission was lost"
        case FoundByName():
            return "the cluster lists the job by its name"
        case FolderRestored():
            return "the run's folder was restored from a backup, so the job that wrote to the folder of before is lost"
        case FoundInFolder(attempt=attempt):
            return f"its folder has attempt {attempt}, of which the restored database did not know"
        case _:
            assert_never(reason)


def _job_ended(reason: JobEnded) -> str:
    end = job_end_sentence(reason.end)
    if reason.paused_step is not None:
        return f"{end}; the run paused at step {reason.paused_step}"
    if reason.lost is not None:
        return f"{end}; {_lost(reason, reason.lost)}"
    match reason.begun:
        case Begun.CLAIMED if reason.end.kind is EndKind.CANCELLED and reason.failure is None:
            return end
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


def _lost(reason: JobEnded, lost: Lost) -> str:
    """Return what was lost of the run's folder, and what is stored."""
    of = f" of {reason.steps}" if reason.steps else ""
    stored = f"step {reason.stored_step}{of} is the last one that is stored" if reason.stored_step else ""
    stored = stored or "no step is stored"
    if lost is Lost.FOLDER:
        return f"the run's folder is gone, and {stored}"
    return f"the last line of its events is damaged, and {stored}"


def _what_follows(reason: Retried | Suspended | RetriesExhausted | NoProgress | LimitTooShort) -> str:
    match reason:
        case Suspended(attempt=attempt):
            return f"the service on this machine was shut down, and attempt {attempt} follows when it is back"
        case Retried(attempt=attempt, memory_gb=memory, minutes=minutes):
            more = [f"{memory} GiB per node"] if memory else []
            more += [f"a limit of {minutes} minutes"] if minutes else []
            return f"attempt {attempt} follows" + (f" with {' and '.join(more)}" if more else "")
        case RetriesExhausted(cause=cause, retries=retries):
            times = "once" if retries == 1 else f"{retries} times"
            return f"the run was retried {times} after {cause.replace('_', ' ')}, which is all that its spec allows"
        case NoProgress(step=step, reached=None):
            return f"the attempt before also reached step {step}, so another attempt would not help"
        case NoProgress(step=step, reached=reached):
            reach = f"this attempt reached step {reached} and the attempt before step {step}"
            return f"{reach}, so another attempt would not help"
        case LimitTooShort():
            return _limit_too_short(reason)
        case _:
            assert_never(reason)


def _limit_too_short(reason: LimitTooShort) -> str:
    steps = "1 step" if reason.steps == 1 else f"{reason.steps} steps"
    limit = f"the limit of {reason.minutes} min is too short"
    advice = "submit the run with a larger resources.minutes"
    if reason.trained_s is not None:
        trained = f"two attempts in a row trained for at most {reason.trained_s:.0f} s of it and took at most {steps}"
        return f"{limit}: {trained}; the rest is start-up and saving; {advice}"
    needs = f"the remaining {reason.steps_left} need {reason.attempts} more attempts"
    return f"{limit}: attempts take {steps}, {needs}, and retries.time_limit leaves {reason.retries_left}; {advice}"
