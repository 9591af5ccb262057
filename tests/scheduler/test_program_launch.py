"""The text by which Slurm starts an own program: for each launcher alone, in an array and in a shared job."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.spec.any_run import AnyRun
from contract.spec.program.run import ProgramSpec
from scheduler.clusters.cluster import ArrayRequest, JobRequest
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.submit.tools import agent_folder
from store.lifecycle.new_runs import need_of
from tests.testing.specs import Experiment

RUNS = Path("/shared/runs")
ALONE, ARRAY = f"{RUNS}/000001-cafe", f"{RUNS}/arrays/bb-1"
TASK = f"{ARRAY}/$SLURM_ARRAY_TASK_ID"
AGENT = f"python3 -I -S -u {agent_folder(RUNS)}"
ON_TWO = {"nodes": 2, "ranks_per_node": 4, "cpus_per_rank": 3}
ON_ONE = {"ranks_per_node": 4, "cpus_per_rank": 3, "gpus_per_rank": 1}
SINGLE = {"cpus_per_rank": 3, "gpus_per_rank": 1}


def program(launcher: str, resources: dict[str, Any], **fields: Any) -> ProgramSpec:
    need = {"kind": "slurm", "minutes": 20, **resources}
    return ProgramSpec.model_validate({"command": ["true"], "launcher": launcher, "resources": need, **fields})


def script_of(spec: ProgramSpec, *, python: str = "", is_array: bool = False, pack: int | None = None) -> str:
    """Return the script of one run, of an array of three tasks, or of three shared jobs."""
    if is_array or pack:
        folder = ArrayFolder.of(RUNS, "bb-1")
        return Slurm(python).script(ArrayRequest("bb-1", folder, 2, spec, [0, 1, 2], 2, pack=pack))
    return Slurm(python).script(JobRequest("bb-1", RunFolder.of(RUNS, 1, "cafe"), 2, spec))


def request_of(script: str) -> dict[str, str]:
    """Return the processes, the GPUs, the tasks and the warning that a script asks for."""
    lines = [line.removeprefix("#SBATCH --").partition("=") for line in script.splitlines() if "#SBATCH" in line]
    names = ("nodes", "ntasks-per-node", "cpus-per-task", "gres", "array", "signal", "output")
    return {name: value for name, _, value in lines if name in names}


def command_of(script: str) -> str:
    return script.splitlines()[-1]


def label(launcher: str) -> str:
    """Return srun's option for labels: below torchrun the agent labels the lines, as a task has several ranks."""
    return "" if launcher == "torchrun" else "--label "


def srun(launcher: str, log: str, cpus: int, *, default_log: str) -> str:
    """Return how srun starts the agents: submitit's own log comes first, and the later option counts."""
    options = f"--output={log} --open-mode=append {label(launcher)}--kill-on-bad-exit=1 --cpus-per-task={cpus}"
    return f"srun --unbuffered --output {default_log}/%j_%t_log.out {options}"


def step(launcher: str, tasks: int, cpus: int, gpus: int) -> str:
    """Return how the packer starts the step of one run of a shared job."""
    options = f"--exact --nodes=1 --ntasks={tasks} --ntasks-per-node={tasks} --mem=0 --gres=gpu:{gpus}"
    log = f"'--output={{}}/out.log' --open-mode=append {label(launcher)}--kill-on-bad-exit=1"
    return f"srun --unbuffered {options} {log} --cpus-per-task={cpus}"


@pytest.mark.parametrize(
    ("launcher", "resources", "tasks", "cpus"),
    [("srun", ON_TWO, 4, 3), ("torchrun", ON_TWO, 1, 12), ("plain", SINGLE, 1, 3)],
)
def test_srun_starts_an_agent_for_each_process_of_the_launcher(
    launcher: str, resources: dict[str, Any], tasks: int, cpus: int
) -> None:
    spec = program(launcher, resources)
    alone, array = script_of(spec), script_of(spec, is_array=True)
    shape = {"nodes": str(spec.resources.nodes), "ntasks-per-node": str(tasks), "cpus-per-task": str(cpus)}
    shape |= {"signal": "USR2@90", **({"gres": "gpu:1"} if launcher == "plain" else {})}
    assert request_of(alone) == {**shape, "output": f"{ALONE}/out.log"}
    assert request_of(array) == {**shape, "output": f"{ARRAY}/%a/out.log", "array": "0-2%2"}
    log = f"{ALONE}/out.log"
    assert command_of(alone) == f"{srun(launcher, log, cpus, default_log=ALONE)} {AGENT} {ALONE} --attempt 2"
    log = f"{ARRAY}/%a/out.log"
    assert command_of(array) == f"{srun(launcher, log, cpus, default_log=ARRAY)} {AGENT} {TASK} --attempt 2"


def test_the_agent_of_mpirun_replaces_the_batch_script_and_gets_its_warning() -> None:
    spec = program("mpirun", {**ON_TWO, "gpus_per_rank": 1})
    alone, array = script_of(spec), script_of(spec, is_array=True)
    shape = {"nodes": "2", "ntasks-per-node": "4", "cpus-per-task": "3", "gres": "gpu:4", "signal": "B:USR2@90"}
    assert request_of(alone) == {**shape, "output": f"{ALONE}/out.log"}
    assert request_of(array) == {**shape, "output": f"{ARRAY}/%a/out.log", "array": "0-2%2"}
    assert command_of(alone) == f"exec {AGENT} {ALONE} --attempt 2"
    assert command_of(array) == f"exec {AGENT} {TASK} --attempt 2"


@pytest.mark.parametrize(
    ("launcher", "resources", "tasks", "cpus", "gpus"),
    [("srun", ON_ONE, 4, 3, 4), ("torchrun", ON_ONE, 1, 12, 4), ("plain", SINGLE, 1, 3, 1)],
)
def test_a_shared_job_asks_for_all_its_runs_and_each_step_for_its_own(
    launcher: str, resources: dict[str, Any], tasks: int, cpus: int, gpus: int
) -> None:
    script = script_of(program(launcher, resources), pack=2)
    assert request_of(script) == {
        "nodes": "1",
        "ntasks-per-node": str(2 * tasks),
        "cpus-per-task": str(cpus),
        "gres": f"gpu:{2 * gpus}",
        "array": "0-2%2",
        "signal": "USR2@90",
        "output": f"{ARRAY}/%a/job.log",
    }
    each = f"{step(launcher, tasks, cpus, gpus)} {AGENT} {{}} --attempt 2"
    assert command_of(script) == f"{AGENT} --pack {TASK} --attempt 2 -- {each}"


@pytest.mark.parametrize(
    ("gres", "expected"), [(None, "gpu:8"), ("nvme:1", "nvme:1,gpu:8")], ids=["alone", "beside others"]
)
def test_the_gpus_of_all_ranks_of_a_node_are_requested(gres: str | None, expected: str) -> None:
    for launcher in ("srun", "torchrun"):
        spec = program(launcher, {**ON_TWO, "gpus_per_rank": 2, "gres": gres})
        assert request_of(script_of(spec))["gres"] == expected
        assert "gpu" not in command_of(script_of(spec)), "srun gives the GPUs of the job to its step"


def test_the_python_of_the_settings_runs_the_agent() -> None:
    script = script_of(program("srun", ON_TWO), python="/opt/python3.9")
    assert f" /opt/python3.9 -I -S -u {agent_folder(RUNS)} {ALONE} " in command_of(script)


def test_srun_starts_the_agent_in_a_container_of_pyxis() -> None:
    container = {"kind": "pyxis", "image": "nvcr.io#nvidia/pytorch:24.05-py3", "mounts": ["/data", "/a:/b"]}
    spec = program("srun", ON_TWO, environment={"container": container}, working_folder="/home/me")
    line = command_of(script_of(spec, python="/opt/python3.9"))
    mounts = f"{RUNS}:{RUNS},/home/me:/home/me,/data:/data,/a:/b"
    options = f"--container-image={container['image']} --container-mounts={mounts}"
    assert f"--cpus-per-task=3 {options} {AGENT} {ALONE} --attempt 2" in line.replace("'", "")


def test_a_container_of_apptainer_is_no_matter_of_srun() -> None:
    container = {"kind": "apptainer", "image": "/images/torch.sif"}
    assert "container" not in script_of(program("srun", ON_TWO, environment={"container": container}))


BASE = program("srun", ON_TWO, parameters={"lr": 0.1})
PYXIS = {"container": {"kind": "pyxis", "image": "a.sqsh"}}


@pytest.mark.parametrize(
    "other",
    [
        program("torchrun", ON_TWO),
        program("mpirun", ON_TWO),
        program("srun", {**ON_TWO, "gpus_per_rank": 1}),
        program("srun", {**ON_TWO, "minutes": 21}),
        program("srun", {**ON_TWO, "options": {"exclusive": True}}),
        program("srun", ON_TWO, environment=PYXIS),
    ],
    ids=["torchrun", "mpirun", "gpus", "minutes", "options", "container"],
)
def test_programs_with_different_scripts_share_no_submission(other: AnyRun) -> None:
    assert script_of(BASE) != script_of(other), "else they might share one"
    assert need_of(BASE, []) != need_of(other, [])


def test_the_mounts_of_a_container_are_part_of_the_need() -> None:
    first, second = [program("srun", ON_TWO, environment=PYXIS, working_folder=name) for name in ("/a", "/b")]
    assert script_of(first) != script_of(second)
    assert need_of(first, []) != need_of(second, [])


def test_programs_with_the_same_script_share_a_submission() -> None:
    environment = {"venv": "/venv", "variables": {"A": "b"}}
    other = program("srun", ON_TWO, parameters={"lr": 0.2}, environment=environment, working_folder="/home/me")
    assert script_of(BASE) == script_of(other)
    assert need_of(BASE, []) == need_of(other, [])
    assert need_of(BASE, ["gpu1"]) != need_of(BASE, []), "an excluded host is an option of sbatch"
    assert need_of(BASE, ["gpu2", "gpu1"]) == need_of(BASE, ["gpu1", "gpu2"])


def test_an_engine_run_and_a_program_share_no_submission(experiment: Experiment) -> None:
    engine = experiment(resources=json.loads(BASE.resources.model_dump_json())).spec.base
    assert need_of(engine, []) != need_of(BASE, [])
