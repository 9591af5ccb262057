"""The claim of an attempt: the job and the service read it alike, and what can be no claim is not awaited."""

import json
import os
from pathlib import Path

import pytest

from contract.folder.run_folder import RunFolder
from runfiles import claim
from runfiles.claim import UNREADABLE, ClaimRefused, claim_attempt
from runfiles.job_folder import JobFolder
from tests.testing.hostile_files import IRREGULAR, plant
from tests.testing.programs import program_folder

pytestmark = pytest.mark.ring("quick")
TEXTS = {
    '{"job": "77 (member 2)"}': "77 (member 2)",
    '{"job": ""}': UNREADABLE,
    '{"job": "77\\n"}': UNREADABLE,
    json.dumps({"job": "7" * 301}): UNREADABLE,
    "[" * 60_000: UNREADABLE,
    '{"job": "7"}' + " " * (1 << 16): UNREADABLE,
}


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(program_folder(tmp_path, "true").path)


@pytest.mark.parametrize(("text", "holder"), TEXTS.items(), ids=lambda text: text[:20])
def test_the_job_reads_a_claim_as_the_service_does(folder: JobFolder, text: str, holder: str) -> None:
    (folder.attempts / "1.json").write_text(text)
    assert [folder.read_claim(1), RunFolder(folder.path).read_claim(1)] == [holder, holder]


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_becomes_no_claim_later_is_not_awaited(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Forces the fault: the agent waited ten seconds for a link or a FIFO in the place of its claim."""
    monkeypatch.setattr(claim, "POLL_S", 1e9)
    plant(folder.attempts / "1.json", kind)
    with pytest.raises(ClaimRefused, match=f"belongs to job {UNREADABLE}"):
        claim_attempt(folder, 1, job="77")


def test_a_file_system_that_fails_for_a_moment_does_not_end_the_job(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the engine ended when a file server answered one look at the claim with an error."""
    assert claim_attempt(folder, 1, job="77") == 1
    answers = iter([OSError(116, "Stale file handle"), OSError(116, "Stale file handle"), b'{"job": "77"}'])

    def read(*_: object) -> bytes:
        if isinstance(answer := next(answers), OSError):
            raise answer
        return answer

    monkeypatch.setattr("runfiles.job_folder.read_bytes", read)
    monkeypatch.setattr(claim, "POLL_S", 0.0)
    assert claim_attempt(folder, 1, job="77") == 1


def test_a_refusal_names_a_later_job_whose_claim_is_gone_as_another(folder: JobFolder) -> None:
    class Later(JobFolder):
        def latest_attempt(self) -> int:
            return 2

    with pytest.raises(ClaimRefused, match="is over: job another has begun 2"):
        claim_attempt(Later(folder.path), 1, job="77")


def test_a_heartbeat_and_a_claim_follow_no_link(folder: JobFolder, tmp_path: Path) -> None:
    """The attack: a program leaves links under the names that its next attempt writes."""
    target = tmp_path / "target"
    (folder.attempts / "1.beat").symlink_to(target)
    folder.write_heartbeat(1)
    assert not target.exists()
    target.mkdir()
    os.rename(folder.attempts, tmp_path / "aside")
    folder.attempts.symlink_to(target)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        folder.claim(1, "77")
    assert list(target.iterdir()) == []
