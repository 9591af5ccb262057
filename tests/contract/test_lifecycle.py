"""Ends, pending reasons and reasons of a run: each has a sentence, and each survives storage as JSON."""

from typing import Any, get_args

import pytest

from api.sentences.job_end import job_end_sentence
from api.sentences.pending import pending_sentence
from api.sentences.reason import reason_sentence
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import CAUSE_OF, EndKind, JobEnd
from contract.lifecycle.pending_reason import KIND_OF, Pending, PendingKind, PendingReason
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
    reason_adapter,
)

pytestmark = pytest.mark.ring("quick")

FAILED = JobEnd(kind=EndKind.FAILED, detail="exit code 4:0", exit_code=4)
ENDED = JobEnded(end=FAILED, begun=Begun.CLAIMED)


def is_sentence(text: str) -> bool:
    """Return whether the text is one part of a sentence: lower case, no full stop, no text of a missing value."""
    return bool(text) and not text.endswith(".") and "None" not in text and text == text.strip()


@pytest.mark.parametrize("kind", EndKind)
def test_every_kind_of_end_has_a_cause_and_a_sentence(kind: EndKind) -> None:
    assert CAUSE_OF[kind] in ExitCause
    assert is_sentence(job_end_sentence(JobEnd(kind=kind, detail="Word", exit_code=3)))
    end = JobEnd(kind=kind, exit_code=3)
    assert JobEnd.model_validate_json(end.model_dump_json()) == end


def test_the_sentence_of_an_end_names_the_exit_code_and_the_clusters_own_word() -> None:
    assert job_end_sentence(FAILED) == "the job failed (exit code 4:0)"
    assert job_end_sentence(JobEnd(kind=EndKind.EXITED, exit_code=3)) == "the job ended with exit code 3"
    assert "SIGTERM" in job_end_sentence(JobEnd(kind=EndKind.SIGNALED, detail="SIGTERM"))


@pytest.mark.parametrize("reason", PendingReason)
def test_every_pending_reason_has_a_kind_and_a_sentence(reason: PendingReason) -> None:
    assert KIND_OF[reason] in PendingKind
    assert is_sentence(pending_sentence(Pending(reason, "Word")))
    assert pending_sentence(Pending(reason, "Word")).endswith("(Word)")


def test_every_kind_of_pending_reason_is_in_use() -> None:
    assert set(KIND_OF.values()) == set(PendingKind)


def test_the_sentence_of_a_limit_for_one_job_advises_against_waiting() -> None:
    assert "waiting does not help" in pending_sentence(Pending(PendingReason.PER_JOB_LIMIT, "QOSMaxCpuPerNode"))
    assert "waiting does not help" not in pending_sentence(Pending(PendingReason.ACCOUNTING_LIMIT, "Word"))


REASONS: list[Reason] = [
    FreeText(text="a sentence of an earlier version"),
    *(StopRequested(source=source) for source in StopSource),
    RunPaused(step=7, message="signal"),
    RunStopped(signal="SIGTERM"),
    RunFailed(message="ValueError: no"),
    *(JobEnded(end=FAILED, begun=begun) for begun in Begun),
    JobEnded(end=FAILED, begun=Begun.NEVER, failure="no module named torch"),
    JobEnded(end=FAILED, begun=Begun.CLAIMED, failure="rank 2 failed"),
    JobEnded(end=FAILED, begun=Begun.CLAIMED, free_bytes=10),
    RankFailed(message="rank 2 failed"),
    CollectionFailed(error="ValueError: int too large to convert"),
    FolderNotWritable(folder="run", error="no space left"),
    FolderNotWritable(folder="array", error="no space left"),
    FolderNotWritable(folder="code", error="no space left"),
    CodeUnavailable(code="5e88" * 16, error="the content is damaged"),
    SubmissionRefused(cluster="slurm", message="invalid partition"),
    SubmissionDeferred(message="the queue is full"),
    SubmissionUnconfirmed(message="sbatch: no answer within 12 s"),
    SubmissionLost(),
    SubmissionLost(message="sbatch: no answer within 12 s"),
    FoundByName(),
    FolderRestored(),
    FoundInFolder(attempt=2),
    Retried(after=ENDED, attempt=2),
    RetriesExhausted(after=ENDED, cause=ExitCause.NODE_FAILURE, retries=1),
    RetriesExhausted(after=RankFailed(message="rank 2 failed"), cause=ExitCause.FAILURE, retries=2),
    NoProgress(after=RunPaused(step=7, message="signal"), step=7),
    NoProgress(after=RunPaused(step=7, message="signal"), step=9, reached=7),
    RetryRequested(),
    RetryRequested(by="ada", points_removed=True),
    ExtensionRequested(by="ada", epochs=50),
    Recorded(source="tensorboard"),
    OutputMissing(name="model", path="out/model.pt", problem="there is no such file or folder"),
    OutputMissing(name="model", path="out/model.pt", problem="it changed while it was read", others=1),
    OutputMissing(name="model", path="out/model.pt", problem="it changed while it was read", others=2),
    ReportDamaged(steps=200),
    ReportDamaged(steps=0),
    JobEnded(end=JobEnd(kind=EndKind.FAILED), begun=Begun.CLAIMED, lost=Lost.FOLDER, stored_step=132, steps=200),
    JobEnded(end=JobEnd(kind=EndKind.FAILED), begun=Begun.NEVER, lost=Lost.FOLDER, stored_step=0),
    JobEnded(end=JobEnd(kind=EndKind.COMPLETED), begun=Begun.CLAIMED, lost=Lost.LAST_LINE, stored_step=7),
    TakenFrom(run=12),
    Suspended(after=RunPaused(step=7, message="signal"), attempt=2),
    RunPaused(step=7, message="signal", cause=ExitCause.TIME_LIMIT, trained_s=9.0),
    JobEnded(end=JobEnd(kind=EndKind.CANCELLED), begun=Begun.CLAIMED),
    JobEnded(end=JobEnd(kind=EndKind.CANCELLED), begun=Begun.CLAIMED, paused_step=7),
    LimitTooShort(after=ENDED, minutes=1, steps=1, steps_left=120, trained_s=4.0),
    LimitTooShort(after=ENDED, minutes=1, steps=2, steps_left=120, attempts=60, retries_left=40),
]


def members(union: Any) -> set[type]:
    """Return the classes of an annotated union."""
    return set(get_args(get_args(union)[0]))


def test_the_examples_cover_every_reason() -> None:
    assert {type(reason) for reason in REASONS} == members(Reason)


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: type(reason).__name__)
def test_a_reason_is_the_same_after_storage_and_has_a_sentence(reason: Reason) -> None:
    assert reason_adapter.validate_json(reason_adapter.dump_json(reason)) == reason
    assert is_sentence(reason_sentence(reason))


def test_a_reason_of_a_later_version_with_another_field_is_readable() -> None:
    stored = {"kind": "rank_failed", "message": "rank 2 failed", "since": "a later version"}
    assert reason_adapter.validate_python(stored) == RankFailed(message="rank 2 failed")
