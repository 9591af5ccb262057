"""The options of sbatch for a many-core partition, and its description in a dry run."""

from pathlib import Path

from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from scheduler.clusters.cluster import JobRequest
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.submit.dry_run import describe_submissions
from tests.testing.specs import Experiment

CHIP = {"cpus": 68, "parts": 4, "cluster_mode": "snc4", "memory_mode": "flat"}
RESOURCES = {"kind": "slurm", "partition": "knl", "nodes": 2, "constraint": "knl", "many_core": CHIP}


def test_the_script_requests_memory_modes_chip_parts_and_whole_nodes(experiment: Experiment, tmp_path: Path) -> None:
    ((_, run),) = experiment(resources=RESOURCES).points
    script = Slurm("python").script(JobRequest("bb", RunFolder(tmp_path), 1, run))
    for line in (
        "#SBATCH --constraint='knl&snc4&flat'",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --cpus-per-task=17",
        "#SBATCH --exclusive",
    ):
        assert line in script.splitlines()
    (srun,) = [line for line in script.splitlines() if line.startswith("srun")]
    assert "--cpus-per-task=17 --cpu-bind=none" in srun


def test_another_partition_binds_and_shares_cores_as_its_cluster_is_configured(
    experiment: Experiment, tmp_path: Path
) -> None:
    ((_, run),) = experiment(resources={"kind": "slurm", "constraint": "knl", "cpus_per_rank": 17}).points
    script = Slurm("python").script(JobRequest("bb", RunFolder(tmp_path), 1, run))
    assert "--cpu-bind" not in script
    assert "exclusive" not in script
    assert "#SBATCH --constraint=knl" in script.splitlines()


def test_the_dry_run_describes_the_parts_of_a_chip_and_their_memory(experiment: Experiment) -> None:
    line = list(describe_submissions(experiment(resources=RESOURCES), Settings(home=Path("/h"))))[1]
    assert "slurm, 2 x 4 ranks, 44 steps of 64; 4 parts of a chip of 68 cpus, 4 x (4 vectors of" in line
    assert line.endswith(" of 16 GiB of fast memory")
