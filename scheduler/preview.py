"""What would be submitted: every point of a sweep and the exact batch script of each, with nothing submitted."""

from collections import defaultdict
from collections.abc import Iterator

from contract.array import ArrayFolder
from contract.experiment import ExperimentSpec, Values
from contract.folder import RunFolder
from contract.many_core import ManyCore
from contract.replica import Replica
from contract.settings import Settings
from contract.spec import RunSpec
from scheduler.clusters.cluster import Array, Job
from scheduler.clusters.local import Local
from scheduler.clusters.slurm import Slurm
from scheduler.clusters.slurm_ids import spell
from scheduler.clusters.slurm_limits import DEFAULT_TASKS
from scheduler.site import job_name
from store.runs import need_of


def preview(experiment: ExperimentSpec, settings: Settings) -> Iterator[str]:
    """Yield lines: the points as a list, then each script once, with the points that it serves.

    Runs on Slurm that ask for the same share a script, as they will share a submission. No cluster is asked: where one
    admits smaller arrays than Slurm does by itself, there will be more of them.
    """
    points = experiment.points()
    yield f"{experiment.name}: {len(points)} run{'s' if len(points) != 1 else ''}"
    together: dict[str, list[int]] = defaultdict(list)
    for number, (values, run) in enumerate(points):
        yield f"  [{number}] {_line(values, run)}"
        together[need_of(run, [])].append(number)
    for numbers in together.values():
        run = points[numbers[0]][1]
        yield f"\n# --- what is started for run{'s' if len(numbers) > 1 else ''} {spell(numbers)}{_plan(run, numbers)}"
        yield _script(run, min(len(numbers), int(DEFAULT_TASKS)), experiment.max_parallel, settings)


def _line(values: Values, run: RunSpec) -> str:
    chosen = " ".join(f"{path}={value}" for path, value in values.items()) or "as in base"
    need = run.resources
    told = f"{chosen} - {need.kind}, {need.nodes} x {need.node_ranks} ranks, {run.steps} steps of {run.batch}"
    return f"{told}; {_chip(need.many_core, run.replica)}" if need.kind == "slurm" and need.many_core else told


def _chip(many_core: ManyCore, replica: Replica | None) -> str:
    """How a chip is cut, and what its parts fill."""
    cut = f"{many_core.parts} part{'s' if many_core.parts > 1 else ''} of a chip of {many_core.cpus} cpus"
    fills = replica.in_words(many_core.parts) if replica else "a net of unknown size"
    fast = f" of {many_core.fast_gib:g} GiB of fast memory" if many_core.fast_gib else ", fast memory not stated"
    return f"{cut}, {fills}{fast}"


def _plan(run: RunSpec, numbers: list[int]) -> str:
    """How many submissions that makes."""
    if run.resources.kind == "local" or len(numbers) == 1:
        return ""
    arrays = -(-len(numbers) // int(DEFAULT_TASKS))
    return f": {arrays} job array{'s' if arrays > 1 else ''}, one sbatch each, of up to {DEFAULT_TASKS} tasks"


def _script(run: RunSpec, tasks: int, cap: int | None, settings: Settings) -> str:
    """The script with RUN in the place of the number and key that a run gets when it is stored."""
    folder = RunFolder(settings.runs_folder() / "RUN")
    job = Job(job_name("RUN", 1), folder, 1, run)
    if run.resources.kind == "local":
        return Local().script(job)
    slurm = Slurm(settings.slurm_python, settings.slurm_setup)
    if tasks == 1:
        return slurm.script(job)
    place = ArrayFolder.of(settings.runs_folder(), job.name)
    return slurm.script(Array(job.name, place, 1, run, range(tasks), min(cap, tasks) if cap else None))
