"""The claim of an attempt by a Slurm job: each start of the job has a name of its own."""

from pathlib import Path

import pytest

from agent.folder.run_folder import RunFolder as AgentFolder
from runfiles.claim import ClaimRefused, claim_attempt
from runfiles.job_name import is_another_start, slurm_job
from tests.testing.programs import program_folder

JOB = {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0"}


@pytest.mark.parametrize("again", [{"BIGBATCH_START": "3-4"}, {"BIGBATCH_START": "3-4", "SLURM_RESTART_COUNT": "1"}])
@pytest.mark.parametrize("more", [{}, {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "2", "BIGBATCH_MEMBER": "1"}])
def test_a_second_start_of_a_job_does_not_repeat_its_attempt(
    tmp_path: Path, again: dict[str, str], more: dict[str, str]
) -> None:
    """Forces the fault: a controller that lost its state starts the job anew, perhaps without counting a restart."""
    folder = program_folder(tmp_path, "true")
    first = slurm_job({**JOB, **more, "BIGBATCH_START": "1-2"})
    second = slurm_job({**JOB, **more, **again})
    assert claim_attempt(AgentFolder(folder.path), 1, job=first) == 1
    assert claim_attempt(AgentFolder(folder.path), 1, job=first) == 1, "another rank of the same start"
    with pytest.raises(ClaimRefused, match="belongs to job"):
        claim_attempt(AgentFolder(folder.path), 1, job=second)
    assert folder.has_started_again(1)
    assert is_another_start(second, first)


@pytest.mark.parametrize("other", [{"SLURM_JOB_ID": "78"}, {"SLURM_STEP_ID": "1"}])
def test_another_job_or_step_is_no_second_start(tmp_path: Path, other: dict[str, str]) -> None:
    folder = program_folder(tmp_path, "true")
    claim_attempt(AgentFolder(folder.path), 1, job=slurm_job(JOB))
    with pytest.raises(ClaimRefused, match="belongs to job 77"):
        claim_attempt(AgentFolder(folder.path), 1, job=slurm_job({**JOB, **other}))
    assert not folder.has_started_again(1)
