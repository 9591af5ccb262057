"""Launch: how a job's script starts a run's processes: the engine's ranks, or the agent of an own program.

`srun` starts one process per rank, `torchrun` one per node, `plain` one; the agent of `mpirun` takes the place of the
batch script, because mpirun starts its processes in the whole job.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from contract.spec.any_run import AnyRun
from contract.spec.program.run import ProgramSpec
from contract.spec.resources import Slurm as SlurmResources
from scheduler.submit.tools import agent_folder

MEMBER = "{}"  # the packer of a shared job replaces it by each run's folder
NODE_PYTHON = "python3"  # of the agent, which needs no package


class Launch(NamedTuple):
    """The processes of one run, and the command of each."""

    command: str  # without the folder
    packer: str  # carries the runs of a shared job
    nodes: int  # on which srun starts processes
    tasks_per_node: int
    cpus_per_task: int
    uses_srun: bool = True
    srun_options: Sequence[str] = ()
    task_is_rank: bool = True  # else srun's labels would number nodes, and the agent labels the lines of its ranks


def find_launch(
    spec: AnyRun, resources: SlurmResources, *, runs_folder: Path, python: str, asked_python: str
) -> Launch:
    """Return the launch; `asked_python` is the jobs' Python of the settings, `python` that of the engine's jobs."""
    if spec.kind == "engine":
        command, packer = f"{python} -P -u -m trainers", f"{python} -P -u -m trainers.packed_runs"
        # ranks bind themselves to the NUMA nodes of a many-core chip and then read their binding
        options = ["--cpu-bind=none"] if resources.many_core else []
        ranks, cpus = resources.node_ranks, resources.rank_cpus
        return Launch(command, packer, resources.nodes, ranks, cpus, srun_options=options)
    agent = shlex.quote(str(agent_folder(runs_folder)))
    agent_python, options = asked_python or NODE_PYTHON, _container_options(spec, runs_folder)
    if options:
        agent_python = NODE_PYTHON  # the agent is in the container, as srun starts it there
    command = f"{agent_python} -I -S -u {agent}"
    nodes, tasks = spec.tasks
    launch = Launch(command, f"{command} --pack", nodes, tasks, _task_cpus(spec, resources), srun_options=options)
    if spec.launcher == "mpirun":
        return launch._replace(uses_srun=False, tasks_per_node=resources.node_ranks, task_is_rank=False)
    return launch._replace(task_is_rank=spec.launcher != "torchrun")


def _task_cpus(spec: ProgramSpec, resources: SlurmResources) -> int:
    """Return the cpus of each process: torchrun starts all ranks of its node."""
    return resources.rank_cpus * (resources.node_ranks if spec.launcher == "torchrun" else 1)


def _container_options(spec: ProgramSpec, runs_folder: Path) -> list[str]:
    """Return srun's options for a container of Pyxis; Apptainer is started by the agent."""
    container = spec.environment.container
    if not container or container.kind != "pyxis":
        return []
    # the run folders have the code snapshots and the agent as well
    places = dict.fromkeys([str(runs_folder), *filter(None, [spec.working_folder]), *container.mounts])
    mounts = [place if ":" in place else f"{place}:{place}" for place in places]
    return [f"--container-image={container.image}", f"--container-mounts={','.join(mounts)}"]
