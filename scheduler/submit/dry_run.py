"""Dry run of an experiment: its points and the exact batch scripts, without a submission."""

from collections import defaultdict
from collections.abc import Iterator

from contract.api.cluster_report import ClusterReport, SubmitLimits
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from contract.spec.any_run import AnyRun
from contract.spec.checks.cluster import check_cluster
from contract.spec.checks.memory import ReplicaMemory
from contract.spec.checks.packing import MAX_RUNS_PER_JOB, check_packing, node_capacity, runs_per_job
from contract.spec.expanded import Expanded
from contract.spec.grid.grid import Values
from contract.spec.grid.value_text import describe_values
from contract.spec.many_core import ManyCore
from scheduler.clusters.cluster import ArrayRequest, JobRequest
from scheduler.clusters.local import Local
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.clusters.slurm.job_ids import format_tasks
from scheduler.clusters.slurm.limits import DEFAULT_TASKS
from scheduler.context import job_name
from store.lifecycle.new_runs import kinds_of_jobs, need_of


def describe_submissions(
    experiment: Expanded, settings: Settings, report: ClusterReport | None = None
) -> Iterator[str]:
    """Yield the output lines: a list of the points, then each distinct batch script with its points.

    Slurm runs with equal resources share a script, because they share a submission. This function calls no cluster:
    limits and nodes come from `report`; without a report, Slurm's default limits apply.
    """
    if experiment.spec.steps:
        yield from _describe_steps(experiment, settings, report)
        return
    admits = report.admits if report else None
    points = experiment.points
    yield f"{experiment.spec.name}: {_runs(len(points))}"
    together: dict[str, list[int]] = defaultdict(list)
    for number, (values, run) in enumerate(points):
        yield f"  [{number}] {_describe_run(values, run)}"
        together[need_of(run, [])].append(number)
    for numbers in together.values():
        run = points[numbers[0]][1]
        plan = _describe_plan(run, len(numbers), experiment.spec.pack, admits)
        yield f"\n# --- batch script of run{'s' if len(numbers) > 1 else ''} {format_tasks(numbers)}{plan}"
        if report and run.resources.kind == "slurm":
            for issue in check_cluster(run.resources, report, replica=run.replica):
                yield f"# by the report of the cluster this cannot run: {issue.path}: {issue.message}"
        if warning := run.input_warning():
            yield f"# {warning.path}: {warning.message}"
        yield from _packing_advice(run, len(numbers), experiment, report)
        yield _script(run, len(numbers), experiment, settings, most=_max_tasks(admits))


def _describe_steps(experiment: Expanded, settings: Settings, report: ClusterReport | None) -> Iterator[str]:
    """Yield the output lines of each step of a workflow, as those of an experiment of its own."""
    yield f"{experiment.spec.name}: {len(experiment.spec.steps)} steps"
    for step in experiment.spec.steps:
        yield ""
        if needs := step.needed():
            have = "has" if len(needs) == 1 else "have"
            yield f"# --- step {step.name} starts when {' and '.join(needs)} {have} ended"
        if step.is_known:
            yield from describe_submissions(experiment.of_step(step.name), settings, report)
        else:
            runs = "one run for each value of a list" if step.size is None else _runs(step.size)
            yield f"{experiment.spec.name}: {step.name}: {runs}, whose fields are known when these steps have ended"


def _runs(count: int) -> str:
    return f"{count:,} run{'s' if count != 1 else ''}"


def _describe_run(values: Values, run: AnyRun) -> str:
    chosen = describe_values(values) or "as in base"
    need = run.resources
    line = f"{chosen} - {need.kind}, {need.nodes} x {need.node_ranks} ranks, {run.describe_work()}"
    return f"{line}; {_describe_chip(need.many_core, run.replica)}" if need.kind == "slurm" and need.many_core else line


def _describe_chip(many_core: ManyCore, replica: ReplicaMemory | None) -> str:
    """Return the parts of a chip and the memory of their replicas."""
    parts = f"{many_core.parts} part{'s' if many_core.parts > 1 else ''} of a chip of {many_core.cpus} cpus"
    memory = replica.describe(many_core.parts) if replica else "model of unknown size"
    fast = f" of {many_core.fast_gib:g} GiB of fast memory" if many_core.fast_gib else ", fast memory not stated"
    return f"{parts}, {memory}{fast}"


def _max_tasks(admits: SubmitLimits | None) -> int:
    return admits.tasks if admits else DEFAULT_TASKS


def _describe_plan(run: AnyRun, runs: int, pack: int | None, admits: SubmitLimits | None) -> str:
    """Return the number of jobs and submissions."""
    if run.resources.kind == "local" or runs == 1:
        return ""
    each = runs_per_job(runs, pack)
    jobs = -(-runs // each)
    size = f"{each}" if runs == jobs * each else f"up to {each}"
    packed = f": {runs} runs in {jobs} job{'s' if jobs > 1 else ''} of {size}" if pack else ""
    arrays = -(-jobs // _max_tasks(admits))
    many = f"{arrays} job array{'s' if arrays > 1 else ''}, one sbatch each, of up to {_max_tasks(admits)} tasks"
    if _max_tasks(admits) == 1:
        many = f"{jobs} jobs without an array, one sbatch each"
    return f"{packed}: {many} ({_limit_source(admits)})"


def _packing_advice(run: AnyRun, runs: int, experiment: Expanded, report: ClusterReport | None) -> Iterator[str]:
    """Yield advice on `pack`, from the nodes of the runs' partition."""
    need = run.resources
    if not report or need.kind == "local" or need.nodes > 1 or need.many_core:
        return
    chosen = report.select_partitions(need.partition)
    capacities = [
        (node_capacity(need, node), node.cpus)
        for part in chosen
        for node in report.nodes
        if part.name in node.partitions
    ]
    if not (capacities := [(capacity, cpus) for capacity, cpus in capacities if capacity]):
        return
    (least, cpus), (most, _), where = min(capacities), max(capacities), need.partition or chosen[0].name
    if experiment.spec.pack:
        if (each := runs_per_job(runs, experiment.spec.pack)) > most:
            yield f"# no node of {where} can carry out {each} of these runs side by side: at most {most}"
        return
    pack, all_runs = (
        min(least, runs, MAX_RUNS_PER_JOB, experiment.spec.max_parallel or runs),
        [run for _, run in experiment.points],
    )
    is_one_need = runs == len(all_runs)  # one value of pack applies to all runs
    if (
        all(part.whole_nodes for part in chosen)
        and is_one_need
        and pack > 1
        and not any(check_packing(pack, experiment.spec.max_parallel, all_runs))
    ):
        jobs, asked = -(-runs // pack), need.ranks_per_node * need.rank_cpus
        gives = f"# {where} allocates whole nodes of {cpus} cpus, and each of these runs needs {asked}"
        yield f"{gives}: `pack: {pack}` reduces {runs} jobs to {jobs}"


def _limit_source(admits: SubmitLimits | None) -> str:
    """Return the source of the limits, and the limit of concurrent jobs."""
    if not admits:
        return "Slurm's default, because no service reports this Slurm's limits"
    return "MaxArraySize of this Slurm" + (f"; at most {admits.jobs} jobs at a time" if admits.jobs else "")


def first_scripts(experiment: Expanded, settings: Settings, most: int) -> Iterator[str]:
    """Yield a batch script for each of the first kinds of Slurm jobs that a submission would have, at most `most`."""
    for run, count in kinds_of_jobs(experiment.points)[:most]:
        if run.resources.kind == "slurm":
            yield _script(run, count, experiment, settings, most=DEFAULT_TASKS)


def _script(run: AnyRun, runs: int, experiment: Expanded, settings: Settings, *, most: int) -> str:
    """Return the script; RUN stands for the id and key of a stored run."""
    folder = RunFolder(settings.runs_folder() / "RUN")
    job = JobRequest(job_name("RUN", 1), folder, 1, run, comment="bigbatch experiment EXPERIMENT, run RUN, attempt 1")
    if run.resources.kind == "local":
        return Local().script(job)
    slurm = Slurm(settings.slurm_python, settings.slurm_setup)
    if runs == 1 or (most == 1 and not experiment.spec.pack):
        return slurm.script(job)
    folder_of_array, each = ArrayFolder.of(settings.runs_folder(), job.name), runs_per_job(runs, experiment.spec.pack)
    tasks = min(-(-runs // each), most)
    at_once = min(experiment.spec.max_parallel // each, tasks) if experiment.spec.max_parallel else None
    pack = each if experiment.spec.pack else None
    return slurm.script(
        ArrayRequest(job.name, folder_of_array, 1, run, range(tasks), at_once, pack=pack, comment=job.comment)
    )
