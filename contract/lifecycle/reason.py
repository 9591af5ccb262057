"""Why a run is in its state, as data. api/sentences/reason.py makes the sentence that a person reads."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from contract.lifecycle.job_end import JobEnd


class _Reason(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class FreeText(_Reason):
    """A sentence from a database of an earlier version."""

    kind: Literal["text"] = "text"
    text: str


class StopSource(StrEnum):
    """What asked a run to stop."""

    USER = "user"
    SHUTDOWN = "shutdown"  # of the service on this machine
    SEARCH = "search"  # a sweep that learns: the run's trial is not among the best, or the sweep pauses or ends


class StopRequested(_Reason):
    kind: Literal["stop_requested"] = "stop_requested"
    source: StopSource = StopSource.USER


class RunPaused(_Reason):
    """All ranks saved and left; `message` is the run's own account of it."""

    kind: Literal["run_paused"] = "run_paused"
    step: int
    message: str
    cause: ExitCause | None = None  # preempted or time_limit
    trained_s: float | None = None  # from the start of the attempt's training to the pause


class RunStopped(_Reason):
    """All ranks left on a signal that the service had not asked for, and none reported a saved state."""

    kind: Literal["run_stopped"] = "run_stopped"
    signal: str


class RunFailed(_Reason):
    """The run reported its own failure."""

    kind: Literal["run_failed"] = "run_failed"
    message: str
    failure: FailureKind | None = None  # None in reasons of earlier versions


class Begun(StrEnum):
    """How far an attempt had come when its job ended."""

    NEVER = "never"  # no process claimed the attempt
    PART_NEVER = "part_never"  # its turn in a shared job had not come
    CLAIMED = "claimed"


class Lost(StrEnum):
    """What of a run's folder was lost, so that it is not known why the job ended."""

    FOLDER = "folder"  # all of it
    LAST_LINE = "last_line"  # of the run's events


class JobEnded(_Reason):
    """The job ended, and the run itself reported nothing."""

    kind: Literal["job_ended"] = "job_ended"
    end: JobEnd
    begun: Begun
    failure: str | None = None  # what the ranks' notes or the log say
    free_bytes: int | None = None  # of the run folder's disk, where that is nearly full
    paused_step: int | None = None  # the step at which the run paused, because the cluster ended its job
    lost: Lost | None = None
    stored_step: int | None = None  # the last step of which something is stored, where something was lost
    steps: int | None = None  # of the whole run


class RankFailed(_Reason):
    """A rank left a note of its failure before the job ended."""

    kind: Literal["rank_failed"] = "rank_failed"
    message: str
    failure: FailureKind | None = None  # None in reasons of earlier versions


class CollectionFailed(_Reason):
    """What the run wrote could not be read or stored, several times in a row."""

    kind: Literal["collection_failed"] = "collection_failed"
    error: str


class FolderNotWritable(_Reason):
    kind: Literal["folder_not_writable"] = "folder_not_writable"
    folder: Literal["run", "array", "code", "tools"]
    error: str


class CodeUnavailable(_Reason):
    """The files of the run's code snapshot are absent or damaged."""

    kind: Literal["code_unavailable"] = "code_unavailable"
    code: str
    error: str


class SubmissionRefused(_Reason):
    """The cluster does not accept the job, now or later."""

    kind: Literal["submission_refused"] = "submission_refused"
    cluster: str
    message: str


class SubmissionDeferred(_Reason):
    """The cluster accepts no more jobs for now."""

    kind: Literal["submission_deferred"] = "submission_deferred"
    message: str


class SubmissionUnconfirmed(_Reason):
    """The answer to sbatch did not arrive, or is not known, so the service asks the cluster for the job by its name."""

    kind: Literal["submission_unconfirmed"] = "submission_unconfirmed"
    message: str
    is_error: bool = False  # sbatch answered, with an error message that the service does not know


class SubmissionLost(_Reason):
    """The cluster never got the job."""

    kind: Literal["submission_lost"] = "submission_lost"
    message: str | None = None
    is_error: bool = False  # as in SubmissionUnconfirmed


class FoundByName(_Reason):
    """The job's id was not stored at its submission; the cluster listed the job by its name."""

    kind: Literal["found_by_name"] = "found_by_name"


class _Request(_Reason):
    """Somebody asked an ended run to go on."""

    by: str | None = None  # the user of the client
    points_removed: bool = False  # the points of its earlier attempts had been removed


class RetryRequested(_Request):
    kind: Literal["retry_requested"] = "retry_requested"


class ExtensionRequested(_Request):
    kind: Literal["extension_requested"] = "extension_requested"
    epochs: int


class Recorded(_Reason):
    """The run was carried out elsewhere, and was done when it was stored."""

    kind: Literal["recorded"] = "recorded"
    source: str


class OutputMissing(_Reason):
    """The run took all its steps, and an output that its spec names is not there."""

    kind: Literal["output_missing"] = "output_missing"
    name: str
    path: str
    problem: str
    others: int = 0  # further outputs that are not there


class ReportDamaged(_Reason):
    """The job completed and all steps are stored; only the run's report of its end is damaged."""

    kind: Literal["report_damaged"] = "report_damaged"
    steps: int


class TakenFrom(_Reason):
    """The run was not carried out: it took the result of a finished run with an equal spec, code and inputs."""

    kind: Literal["taken_from"] = "taken_from"
    run: int


class FolderRestored(_Reason):
    """The run's folder was restored from a backup, and its job writes to the folder of before: the job is lost."""

    kind: Literal["folder_restored"] = "folder_restored"


class FoundInFolder(_Reason):
    """The run's folder has an attempt of which the restored database did not know."""

    kind: Literal["found_in_folder"] = "found_in_folder"
    attempt: int


Ending = FreeText | RunPaused | RunStopped | RunFailed | JobEnded | RankFailed | FolderRestored


class Retried(_Reason):
    """The run waits for its next attempt."""

    kind: Literal["retried"] = "retried"
    after: Annotated[Ending, Field(discriminator="kind")]
    attempt: int  # the next one
    memory_gb: int | None = None  # of each node, if the next attempt gets more
    minutes: int | None = None  # the limit of the next attempt, if it is longer


class Suspended(_Reason):
    """The service on this machine was shut down; the run goes on when it starts again."""

    kind: Literal["suspended"] = "suspended"
    after: Annotated[Ending, Field(discriminator="kind")]
    attempt: int  # the next one


class RetriesExhausted(_Reason):
    """The run was retried as often as its spec allows for this cause."""

    kind: Literal["retries_exhausted"] = "retries_exhausted"
    after: Annotated[Ending, Field(discriminator="kind")]
    cause: ExitCause
    retries: int


class NoProgress(_Reason):
    """The attempt before reached its time limit at the same step, or later: another attempt would get no further."""

    kind: Literal["no_progress"] = "no_progress"
    after: Annotated[Ending, Field(discriminator="kind")]
    step: int  # that the attempt before reached
    reached: int | None = None  # the step that this attempt reached, if that is an earlier one


class LimitTooShort(_Reason):
    """The time limit leaves an attempt so little time to train that further attempts would not end the run."""

    kind: Literal["limit_too_short"] = "limit_too_short"
    after: Annotated[Ending, Field(discriminator="kind")]
    minutes: int  # the limit
    steps: int  # that an attempt took, at most
    steps_left: int
    trained_s: float | None = None  # the longest time that an attempt trained; None: long enough
    attempts: int | None = None  # that the remaining steps need
    retries_left: int | None = None


Reason = Annotated[
    FreeText
    | StopRequested
    | RunPaused
    | RunStopped
    | RunFailed
    | JobEnded
    | RankFailed
    | CollectionFailed
    | FolderNotWritable
    | CodeUnavailable
    | SubmissionRefused
    | SubmissionDeferred
    | SubmissionUnconfirmed
    | SubmissionLost
    | FoundByName
    | FolderRestored
    | FoundInFolder
    | Retried
    | RetriesExhausted
    | NoProgress
    | LimitTooShort
    | RetryRequested
    | ExtensionRequested
    | Suspended
    | Recorded
    | OutputMissing
    | ReportDamaged
    | TakenFrom,
    Field(discriminator="kind"),
]
reason_adapter: TypeAdapter[Reason] = TypeAdapter(Reason)
