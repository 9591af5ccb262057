"""The claim of an attempt by a Slurm job: each start of the job has a name of its own."""

from pathlib import Path

import pytest

from agent.folder.claim import ClaimRefused, claim_attempt, job_name
from agent.folder.run_folder import RunFolder as AgentFolder
from contract.folder.job_identity import is_another_start
from tests.testing.programs import program_folder

JOB = {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0"}


@pytest.mark.parametrize("again", [{"BIGBATCH_START": "3-4"}, {"BIGBATCH_START": "3-4", "SLURM_RESTART_COUNT": "1"}])
@pytest.mark.parametrize("more", [{}, {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "2", "BIGBATCH_MEMBER": "1"}])
def test_a_second_start_of_a_job_does_not_repeat_its_attempt(
    tmp_path: Path, again: dict[str, str], more: dict[str, str]
) -> None:
    """Forces the fault: a controller that lost its state starts the job anew, perhaps without counting a restart."""
    folder = program_folder(tmp_path, "true")
    first = job_name({**JOB, **more, "BIGBATCH_START": "1-2"}, is_slurm=True)
    second = job_name({**JOB, **more, **again}, is_slurm=True)
    assert claim_attempt(AgentFolder(folder.path), 1, job=first) == 1
    assert claim_attempt(AgentFolder(folder.path), 1, job=first) == 1, "another rank of the same start"
    with pytest.raises(ClaimRefused, match="belongs to job"):
        claim_attempt(AgentFolder(folder.path), 1, job=second)
    assert folder.has_started_again(1)
    assert is_another_start(second, first)


@pytest.mark.parametrize("other", [{"SLURM_JOB_ID": "78"}, {"SLURM_STEP_ID": "1"}])
def test_another_job_or_step_is_no_second_start(tmp_path: Path, other: dict[str, str]) -> None:
    folder = program_folder(tmp_path, "true")
    claim_attempt(AgentFolder(folder.path), 1, job=job_name(JOB, is_slurm=True))
    with pytest.raises(ClaimRefused, match="belongs to job 77"):
        claim_attempt(AgentFolder(folder.path), 1, job=job_name({**JOB, **other}, is_slurm=True))
    assert not folder.has_started_again(1)
