"""Files that a program needs: what this host does not see is refused, what it cannot know is not."""

from pathlib import Path

import pytest

from contract.spec.expanded import read_experiment
from orders.checks.files import absent_files

pytestmark = pytest.mark.ring("quick")

SLURM = {"kind": "slurm", "partition": "gpu"}


def issues(runs_folder: Path, **fields: object) -> dict[str, str]:
    spec = read_experiment({"name": "own", "base": {"kind": "program", "command": "true", **fields}})
    return {issue.path: issue.message for issue in absent_files(spec, runs_folder)}


@pytest.mark.parametrize(
    "command", ["no-such-program --lr 1", ["no-such-program"], "/no/such/program", ["/no/such/program", "{run_folder}"]]
)
def test_a_local_command_that_does_not_exist_is_refused(tmp_path: Path, command: object) -> None:
    assert issues(tmp_path, command=command).keys() == {"base.command"}


@pytest.mark.parametrize(
    "command",
    ["ls -l", "cd /tmp && ./made-later", "A=1 no-such-program", "if true; then echo; fi", "$TOOL run", "(a; b)"],
)
def test_what_only_bash_can_know_is_accepted(tmp_path: Path, command: str) -> None:
    assert issues(tmp_path, command=command) == {}


def test_a_launcher_that_this_host_lacks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "true").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert issues(tmp_path, launcher="torchrun").keys() == {"base.launcher"}
    assert issues(tmp_path, launcher="mpirun", environment={"modules": ["mpi"]}) == {}
    (tmp_path / "torchrun").touch(mode=0o755)
    assert issues(tmp_path, launcher="torchrun") == {}


def test_modules_or_setup_lines_may_bring_the_command(tmp_path: Path) -> None:
    assert issues(tmp_path, command="no-such-program", environment={"modules": ["tool"]}) == {}
    assert issues(tmp_path, command="no-such-program", environment={"setup": ["export PATH=/x:$PATH"]}) == {}


def test_a_venv_a_folder_and_an_image_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "singularity").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    gone = str(tmp_path / "gone")
    assert issues(tmp_path, working_folder=gone).keys() == {"base.working_folder"}
    assert issues(tmp_path, environment={"venv": gone}).keys() == {"base.environment.venv"}
    image = issues(tmp_path, environment={"container": {"image": gone}})
    assert image.keys() == {"base.environment.container.image"}
    assert issues(tmp_path, environment={"container": {"image": "docker://torch"}}) == {}


def test_the_command_that_runs_containers_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    container = {"container": {"image": "docker://torch"}}
    assert issues(tmp_path, environment=container).keys() == {"base.environment.container.kind"}
    assert issues(tmp_path, environment={**container, "modules": ["apptainer"]}) == {}
    assert issues(tmp_path, environment=container, resources=SLURM) == {}
    (tmp_path / "apptainer").touch(mode=0o755)
    assert issues(tmp_path, environment=container) == {}


def test_more_gpus_than_this_host_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract.spec.checks.program_files.DEVICES", tmp_path)
    two_each = {"launcher": "srun", "resources": {"kind": "local", "ranks_per_node": 2, "gpus_per_rank": 2}}
    message = "2 x 2 ranks = 4 GPUs; this host has none"
    assert issues(tmp_path, **two_each) == {"base.resources.gpus_per_rank": message}
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert issues(tmp_path, **two_each)["base.resources.gpus_per_rank"].endswith("this host has 3")
    (tmp_path / "nvidia3").touch()
    assert issues(tmp_path, **two_each) == {}
    (tmp_path / "nvidia3").unlink()
    (tmp_path / "kfd").touch()  # AMD's driver: this check cannot count its GPUs
    assert issues(tmp_path, **two_each) == {}


def test_an_executable_of_a_venv_is_found(tmp_path: Path) -> None:
    for name in ("python", "my-tool"):
        path = tmp_path / "venv" / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(0o755)
    assert issues(tmp_path, command="my-tool", environment={"venv": str(tmp_path / "venv")}) == {}
    assert "base.command" in issues(tmp_path, command="my-tool")


def test_on_slurm_only_the_file_system_of_the_run_folders_counts(tmp_path: Path) -> None:
    assert issues(tmp_path, resources=SLURM, command="no-such-program") == {}
    assert issues(tmp_path, resources=SLURM, working_folder=str(tmp_path / "gone")).keys() == {"base.working_folder"}
    assert issues(tmp_path, resources=SLURM, working_folder="/proc/gone") == {}, "another file system"


def test_an_issue_of_one_point_names_its_axis(tmp_path: Path) -> None:
    base = {"kind": "program", "command": "true"}
    axes = {"working_folder": [str(tmp_path), str(tmp_path / "gone")]}
    spec = read_experiment({"name": "own", "base": base, "axes": axes})
    assert [issue.path for issue in absent_files(spec, tmp_path)] == ["axes.working_folder"]
