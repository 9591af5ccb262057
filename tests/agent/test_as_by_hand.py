"""One process by `plain` has the environment that it has by hand, and jobs that a program submits know no run."""

import os
from pathlib import Path

import pytest

from tests.testing.programs import program_folder, run_agent

pytestmark = pytest.mark.ring("gate")
OF_A_RANK = "RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|MASTER_ADDR|MASTER_PORT"
# a stand-in for sbatch, because the real one needs a cluster; the lab's is tested in tests/flow
SBATCH = "#!/bin/sh\nenv > submitted\necho \"$@\" > words\nprintf 'Submitted batch job 77\\nthe end'\nexit 3\n"


def variables(folder: Path) -> set[str]:
    return set((folder / "seen").read_text().split())


@pytest.mark.parametrize(
    ("fields", "are_there"),
    [
        ({"launcher": "plain"}, False),
        ({"launcher": "plain", "rank_variables": True}, True),
        ({"launcher": "srun"}, True),
        ({"launcher": "srun", "rank_variables": False}, False),
    ],
)
def test_plain_sets_no_variable_of_a_rank_unless_the_spec_asks(
    tmp_path: Path, fields: dict[str, object], are_there: bool
) -> None:
    line = f"env | cut -d= -f1 | grep -xE '{OF_A_RANK}' > seen; true"
    folder = program_folder(tmp_path, line, **fields)
    clean = {name: value for name, value in os.environ.items() if name not in OF_A_RANK.split("|")}
    assert run_agent(folder, environment=clean) == 0
    assert variables(folder.path) == (set(OF_A_RANK.split("|")) if are_there else set())


def test_a_job_that_a_program_submits_knows_nothing_of_the_run_and_is_noted(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    (cluster / "sbatch").write_text(SBATCH)
    (cluster / "sbatch").chmod(0o755)
    environment = {
        "PATH": f"{cluster}:{os.environ['PATH']}",
        **{"SLURM_NTASKS": "8", "SLURM_CONF": "/etc/slurm.conf", "OWN": "kept"},
    }
    folder = program_folder(tmp_path, "sbatch --time=5 'a b.sh' > said; echo $? > status; true")
    assert run_agent(folder, environment=environment) == 0
    names = {line.partition("=")[0] for line in (folder.path / "submitted").read_text().splitlines()}
    assert {"SLURM_CONF", "OWN", "PATH"} <= names
    assert not names & {*OF_A_RANK.split("|"), "SLURM_NTASKS", "BIGBATCH_RUN_FOLDER", "BIGBATCH_ATTEMPT"}
    assert (folder.path / "words").read_text() == "--time=5 a b.sh\n"
    assert (folder.path / "said").read_text() == "Submitted batch job 77\nthe end\n"
    assert (folder.path / "status").read_text() == "3\n"
    number, at = (folder.path / "attempts/1.jobs").read_text().split()
    assert (number, at.isdecimal()) == ("77", True)
