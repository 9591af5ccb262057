"""What would be submitted: every point of a sweep and the exact batch script of each, with nothing submitted."""

from collections import defaultdict
from collections.abc import Iterator

from contract.api.cluster_report import Admits, ClusterReport
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from contract.spec.checks.memory import Replica
from contract.spec.checks.packing import MOST, pack_misfits, room, width
from contract.spec.experiment import ExperimentSpec, Values
from contract.spec.many_core import ManyCore
from contract.spec.run import RunSpec
from scheduler.clusters.cluster import Array, Job
from scheduler.clusters.local import Local
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_ids import spell
from scheduler.clusters.slurm.limits import DEFAULT_TASKS
from scheduler.context import job_name
from store.runs import need_of


def preview(experiment: ExperimentSpec, settings: Settings, report: ClusterReport | None = None) -> Iterator[str]:
    """Yield lines: the points as a list, then each script once, with the points that it serves.

    Runs on Slurm that ask for the same share a script, as they will share a submission. No cluster is asked: `report`
    is what theirs has told a service of itself; without it, Slurm's own default counts.
    """
    admits = report.admits if report else None
    points = experiment.points()
    yield f"{experiment.name}: {len(points)} run{'s' if len(points) != 1 else ''}"
    together: dict[str, list[int]] = defaultdict(list)
    for number, (values, run) in enumerate(points):
        yield f"  [{number}] {_line(values, run)}"
        together[need_of(run, [])].append(number)
    for numbers in together.values():
        run = points[numbers[0]][1]
        plan = _plan(run, len(numbers), experiment.pack, admits)
        yield f"\n# --- what is started for run{'s' if len(numbers) > 1 else ''} {spell(numbers)}{plan}"
        yield from _advice(run, len(numbers), experiment, report)
        yield _script(run, len(numbers), experiment, settings, most=_largest(admits))


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


def _largest(admits: Admits | None) -> int:
    return admits.tasks if admits else DEFAULT_TASKS


def _plan(run: RunSpec, runs: int, pack: int | None, admits: Admits | None) -> str:
    """How many jobs and submissions that makes."""
    if run.resources.kind == "local" or runs == 1:
        return ""
    each = width(runs, pack)
    jobs = -(-runs // each)
    size = f"{each}" if runs == jobs * each else f"up to {each}"
    packed = f": {runs} runs in {jobs} job{'s' if jobs > 1 else ''} of {size}" if pack else ""
    arrays = -(-jobs // _largest(admits))
    many = f"{arrays} job array{'s' if arrays > 1 else ''}, one sbatch each, of up to {_largest(admits)} tasks"
    if _largest(admits) == 1:
        many = f"{jobs} jobs without an array, one sbatch each"
    return f"{packed}: {many} ({_whose(admits)})"


def _advice(run: RunSpec, runs: int, experiment: ExperimentSpec, report: ClusterReport | None) -> Iterator[str]:
    """Whether the runs would do well to share jobs, or cannot as asked for, by the nodes of their partition."""
    need = run.resources
    if not report or need.kind == "local" or need.nodes > 1 or need.many_core:
        return
    chosen = report.chosen(need.partition)
    rooms = [(room(need, node), node.cpus) for part in chosen for node in report.nodes if part.name in node.partitions]
    if not (rooms := [(there, cpus) for there, cpus in rooms if there]):
        return
    (least, cpus), (most, _), where = min(rooms), max(rooms), need.partition or chosen[0].name
    if experiment.pack:
        if (each := width(runs, experiment.pack)) > most:
            yield f"# no node of {where} has room for {each} such runs side by side: {most} at most"
        return
    pack, all_runs = min(least, runs, MOST, experiment.max_parallel or runs), [run for _, run in experiment.points()]
    is_one_need = runs == len(all_runs)  # one number serves all
    if (
        all(part.whole_nodes for part in chosen)
        and is_one_need
        and pack > 1
        and not any(pack_misfits(pack, experiment.max_parallel, all_runs))
    ):
        jobs, asked = -(-runs // pack), need.ranks_per_node * need.rank_cpus
        gives = f"# {where} gives jobs whole nodes, here of {cpus} cpus, and such a run asks for {asked}"
        yield f"{gives}: with `pack: {pack}` it would be {jobs} job{'s' if jobs > 1 else ''} instead of {runs}"


def _whose(admits: Admits | None) -> str:
    """Where the limits come from, and how much may be there at once."""
    if not admits:
        return "Slurm's own default: no service has told what this one admits"
    return "MaxArraySize of this Slurm" + (f"; of all jobs at most {admits.jobs} at once" if admits.jobs else "")


def _script(run: RunSpec, runs: int, experiment: ExperimentSpec, settings: Settings, *, most: int) -> str:
    """The script with RUN in the place of the number and key that a run gets when it is stored."""
    folder = RunFolder(settings.runs_folder() / "RUN")
    job = Job(job_name("RUN", 1), folder, 1, run)
    if run.resources.kind == "local":
        return Local().script(job)
    slurm = Slurm(settings.slurm_python, settings.slurm_setup)
    if runs == 1 or (most == 1 and not experiment.pack):
        return slurm.script(job)
    place, each = ArrayFolder.of(settings.runs_folder(), job.name), width(runs, experiment.pack)
    tasks = min(-(-runs // each), most)
    at_once = min(experiment.max_parallel // each, tasks) if experiment.max_parallel else None
    pack = each if experiment.pack else None
    return slurm.script(Array(job.name, place, 1, run, range(tasks), at_once, pack=pack))
