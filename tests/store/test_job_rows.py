"""The conversions of migration 0008: sentences to reasons and back."""

import pytest

from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import (
    Begun,
    FoundByName,
    JobEnded,
    Reason,
    Retried,
    RunPaused,
    StopRequested,
    StopSource,
    SubmissionLost,
    SubmissionRefused,
    SubmissionUnconfirmed,
    reason_adapter,
)
from migrations import job_rows
from migrations.old_sentences import ENDS, HOSTS_UNKNOWN, PENDING


def test_every_converted_name_has_a_member_today() -> None:
    assert {*PENDING.values(), *job_rows.PENDING_OF_KIND.values()} <= {*PendingReason}
    assert set(ENDS.values()) <= {*EndKind}


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        (None, None, (None, None)),
        ("it waits for nodes to become free (Resources)", "resources", ("resources", "Resources")),
        ("the job is suspended and keeps its place (SUSPENDED)", "held", ("suspended", "SUSPENDED")),
        (
            "a node that it needs is down, drained or reserved (ReqNodeNotAvail, UnavailableNodes:n1)",
            "resources",
            ("node_not_available", "ReqNodeNotAvail, UnavailableNodes:n1"),
        ),
        ("a limit of its account or QOS is reached (QOSMaxJobs)", "quota", ("accounting_limit", "QOSMaxJobs")),
        ("it is on hold (SiteHold)", "held", ("held", "SiteHold")),
        ("Slurm says: NewWord", "other", ("other", "NewWord")),
        (HOSTS_UNKNOWN, "other", ("hosts_unknown", None)),
    ],
)
def test_a_pending_sentence_becomes_a_reason_with_slurms_word(
    text: str | None, kind: str | None, reason: tuple[str | None, str | None]
) -> None:
    assert job_rows.pending_of(text, kind) == reason
    assert job_rows.pending_of(*job_rows.pending_text(*reason)) == reason


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("the job ended", JobEnd(kind=EndKind.COMPLETED)),
        ("the job failed (NonZeroExitCode)", JobEnd(kind=EndKind.FAILED, detail="NonZeroExitCode")),
        ("the job failed (exit code 85:0)", JobEnd(kind=EndKind.FAILED, detail="exit code 85:0", exit_code=85)),
        ("the job failed (exit code 0:9)", JobEnd(kind=EndKind.FAILED, detail="exit code 0:9")),
        ("its part of the job ended with exit code 137", JobEnd(kind=EndKind.PART_EXITED, exit_code=137)),
        ("its part of the job ended", JobEnd(kind=EndKind.PART_EXITED, exit_code=0)),
        ("no known sentence (1)", JobEnd(kind=EndKind.OTHER, detail="no known sentence (1)")),
    ],
)
def test_the_sentence_of_an_end_becomes_an_end_and_back(text: str, end: JobEnd) -> None:
    stored = job_rows.end_of(text)
    assert JobEnd.model_validate(stored) == end
    assert job_rows.end_text(stored) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (StopRequested(source=StopSource.SHUTDOWN), "the service on this machine was shut down"),
        (RunPaused(step=2, message="SIGTERM on rank 0"), "paused at step 2: SIGTERM on rank 0"),
        (SubmissionRefused(cluster="slurm", message="invalid account"), "slurm refused the job: invalid account"),
        (SubmissionLost(message="timed out"), "its submission was lost: timed out"),
        (SubmissionLost(), "its submission was lost"),
        (FoundByName(), "found by name"),
        (
            Retried(after=JobEnded(end=JobEnd(kind=EndKind.PREEMPTED), begun=Begun.CLAIMED), attempt=2),
            "the job was preempted by another; retried, attempt 2",
        ),
    ],
)
def test_a_reason_becomes_a_text(reason: Reason, text: str) -> None:
    assert job_rows.reason_text(reason_adapter.dump_python(reason, mode="json", exclude_none=True)) == text


def test_the_message_of_an_unconfirmed_submission_survives_a_downgrade() -> None:
    reason = SubmissionUnconfirmed(message="Socket timed out")
    upgraded = job_rows.run_reason("submitting", job_rows.reason_text(reason.model_dump()))
    assert reason_adapter.validate_python(upgraded) == reason
