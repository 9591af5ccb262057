"""What a many-core partition is asked for, in sbatch's words, and what the preview says of it."""

from pathlib import Path

from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from scheduler.clusters.cluster import Job
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.submit.dry_run import preview
from tests.conftest import Experiment

CHIP = {"cpus": 68, "parts": 4, "cluster_mode": "snc4", "memory_mode": "flat"}
RESOURCES = {"kind": "slurm", "partition": "knl", "nodes": 2, "constraint": "knl", "many_core": CHIP}


def test_the_script_asks_for_modes_parts_and_whole_nodes(experiment: Experiment, tmp_path: Path) -> None:
    ((_, run),) = experiment(resources=RESOURCES).points()
    script = Slurm("python").script(Job("bb", RunFolder(tmp_path), 1, run))
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


def test_another_partition_is_bound_and_shared_as_its_site_has_it(experiment: Experiment, tmp_path: Path) -> None:
    ((_, run),) = experiment(resources={"kind": "slurm", "constraint": "knl", "cpus_per_rank": 17}).points()
    script = Slurm("python").script(Job("bb", RunFolder(tmp_path), 1, run))
    assert "--cpu-bind" not in script
    assert "exclusive" not in script
    assert "#SBATCH --constraint=knl" in script.splitlines()


def test_the_preview_says_how_a_chip_is_cut_and_what_its_parts_fill(experiment: Experiment) -> None:
    line = list(preview(experiment(resources=RESOURCES), Settings(home=Path("/h"))))[1]
    assert "slurm, 2 x 4 ranks, 44 steps of 64; 4 parts of a chip of 68 cpus, 4 x (4 vectors of" in line
    assert line.endswith(" of 16 GiB of fast memory")
